#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace assay {
namespace fs = std::filesystem;
namespace {

// Owns a file descriptor; closes it when it goes.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd);
  }

 private:
  int fd_;
};

Status write_and_sync(const fs::path& path, std::string_view content) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return errno_status(errno, "cannot create " + quoted(path));
  RETURN_IF_ERROR(write_all(file.get(), content, quoted(path)));
  if (::fsync(file.get()) != 0) return errno_status(errno, "cannot sync " + quoted(path));
  if (file.close() != 0) return errno_status(errno, "cannot close " + quoted(path));
  return ok_status();
}

}  // namespace

Status write_all(int fd, std::string_view content, std::string_view what) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_status(errno, fmt::format("cannot write {}", what));
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok_status();
}

std::string quoted(const fs::path& path) { return fmt::format("\"{}\"", path.native()); }

Result<std::string> read_file(const fs::path& path, std::uint64_t limit_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno_status(errno, "cannot open " + quoted(path));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return errno_status(errno, "cannot stat " + quoted(path));
  if (S_ISDIR(info.st_mode)) {
    return invalid_argument(fmt::format("{} is a folder, a file is wanted", quoted(path)));
  }
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_status(errno, "cannot read " + quoted(path));
    if (count == 0) return content;
    content.append(buffer, static_cast<std::size_t>(count));
    if (content.size() > limit_bytes) {
      return resource_exhausted(
          fmt::format("{} is larger than {} bytes, the most read here", quoted(path), limit_bytes));
    }
  }
}

Status write_file_atomic(const fs::path& path, std::string_view content) {
  fs::path partial = path;
  partial += fmt::format(".partial-{}", ::getpid());
  ::unlink(partial.c_str());
  Status status = write_and_sync(partial, content);
  if (status.ok() && ::rename(partial.c_str(), path.c_str()) != 0) {
    status = errno_status(errno, "cannot rename to " + quoted(path));
  }
  if (!status.ok()) ::unlink(partial.c_str());
  return status;
}

Status check_writable_folder(const fs::path& folder, std::uint64_t needed_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return errno_status(error.value(), "cannot make folder " + quoted(folder));
  const fs::path probe = folder / fmt::format(".probe-{}", ::getpid());
  const Status status = write_and_sync(probe, "probe");
  ::unlink(probe.c_str());
  RETURN_IF_ERROR(status);
  struct statvfs space{};
  if (::statvfs(folder.c_str(), &space) != 0) {
    return errno_status(errno, "cannot ask for free space of " + quoted(folder));
  }
  const std::uint64_t free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  if (free_bytes < needed_bytes) {
    return resource_exhausted(fmt::format("{} has {} bytes free, {} are needed", quoted(folder),
                                          free_bytes, needed_bytes));
  }
  return ok_status();
}

}  // namespace assay
