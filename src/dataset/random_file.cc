#include "dataset/random_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkostemp is POSIX
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

// O_TMPFILE where the file system has it; else a name that is unlinked at once.
int open_unnamed(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  std::string name = (folder / "scratch-XXXXXX").native();
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

Result<RandomFile> RandomFile::open(const fs::path& path) {
  RandomFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC), quoted(path));
  if (file.fd_ < 0) return errno_status(errno, "cannot open " + quoted(path));
  struct stat info{};
  if (::fstat(file.fd_, &info) != 0) return errno_status(errno, "cannot stat " + quoted(path));
  if (!S_ISREG(info.st_mode)) {
    return invalid_argument(fmt::format("{} is not a regular file", quoted(path)));
  }
  file.size_bytes_ = static_cast<std::uint64_t>(info.st_size);
  return file;
}

Result<RandomFile> RandomFile::make_scratch(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return errno_status(error.value(), "cannot make folder " + quoted(folder));
  RandomFile file(open_unnamed(folder), "scratch file in " + quoted(folder));
  if (file.fd_ < 0) return errno_status(errno, "cannot make a scratch file in " + quoted(folder));
  return file;
}

RandomFile::RandomFile(RandomFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      size_bytes_(other.size_bytes_) {}

RandomFile& RandomFile::operator=(RandomFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(name_, other.name_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

RandomFile::~RandomFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status RandomFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_status(errno, "cannot write " + name_);
    size_bytes_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return ok_status();
}

Status RandomFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_status(errno, "cannot read " + name_);
    if (count == 0) {
      return data_loss(
          fmt::format("{} ends at byte {}, {} more are wanted", name_, offset, into.size()));
    }
    offset += static_cast<std::uint64_t>(count);
    into = into.subspan(static_cast<std::size_t>(count));
  }
  return ok_status();
}

}  // namespace assay::dataset
