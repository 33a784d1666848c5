#include "check/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"

namespace assay::check {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGatherBytes = 256 * 1024;

Status write_whole(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                   const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_status(errno, "cannot write " + quoted(path));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return ok_status();
}

}  // namespace

Result<PartialFile> PartialFile::create(const fs::path& path) {
  fs::path partial = path;
  partial += fmt::format(".partial-{}", ::getpid());
  ::unlink(partial.c_str());
  const int fd = ::open(partial.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return errno_status(errno, "cannot create " + quoted(partial));
  return PartialFile(fd, path, std::move(partial));
}

PartialFile::PartialFile(int fd, fs::path path, fs::path partial)
    : fd_(fd), path_(std::move(path)), partial_(std::move(partial)) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      gathered_offset_(other.gathered_offset_),
      gathered_(std::move(other.gathered_)) {}

PartialFile& PartialFile::operator=(PartialFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  partial_ = std::move(other.partial_);
  gathered_offset_ = other.gathered_offset_;
  gathered_ = std::move(other.gathered_);
  return *this;
}

PartialFile::~PartialFile() { discard(); }

Status PartialFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  const bool follows = offset == gathered_offset_ + gathered_.size();
  if (!follows || gathered_.size() + bytes.size() > kGatherBytes) RETURN_IF_ERROR(flush());
  if (bytes.size() > kGatherBytes) return write_whole(fd_, offset, bytes, partial_);
  if (gathered_.empty()) gathered_offset_ = offset;
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
  return ok_status();
}

Status PartialFile::resize(std::uint64_t size_bytes) {
  RETURN_IF_ERROR(flush());
  if (::ftruncate(fd_, static_cast<off_t>(size_bytes)) == 0) return ok_status();
  return errno_status(errno,
                      fmt::format("cannot make {} {} bytes long", quoted(partial_), size_bytes));
}

Status PartialFile::commit() {
  RETURN_IF_ERROR(flush());
  if (::fsync(fd_) != 0) return errno_status(errno, "cannot sync " + quoted(partial_));
  if (::close(std::exchange(fd_, -1)) != 0) {
    const Status status = errno_status(errno, "cannot close " + quoted(partial_));
    ::unlink(partial_.c_str());
    return status;
  }
  if (::rename(partial_.c_str(), path_.c_str()) == 0) return ok_status();
  const Status status = errno_status(errno, "cannot rename to " + quoted(path_));
  ::unlink(partial_.c_str());
  return status;
}

Status PartialFile::flush() {
  const Status status = write_whole(fd_, gathered_offset_, gathered_, partial_);
  gathered_.clear();
  return status;
}

void PartialFile::discard() {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  ::unlink(partial_.c_str());
}

}  // namespace assay::check
