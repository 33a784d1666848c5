#include "worker/log_limit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/file.h"

namespace assay::worker {
namespace {

constexpr std::uint64_t kTailBytes = std::uint64_t{64} << 10;

// The last whole lines of the open file, kTailBytes of them at most.
std::string newest_lines(int fd, std::uint64_t size) {
  std::string text(std::min(size, kTailBytes), '\0');
  const ssize_t count =
      ::pread(fd, text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  const std::size_t line_end = text.find('\n');
  return line_end == std::string::npos ? text : text.substr(line_end + 1);
}

}  // namespace

void LogLimit::enforce() {
  struct stat info{};
  if (::stat(log_.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  if (static_cast<std::uint64_t>(info.st_size) <= 2 * kept_bytes_) return;
  const int fd = ::open(log_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  const std::uint64_t size =
      ::fstat(fd, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : std::uint64_t{0};
  const std::string newest = newest_lines(fd, size);
  if (size > kept_bytes_ && ::ftruncate(fd, static_cast<off_t>(kept_bytes_)) == 0) {
    dropped_bytes_ += size - kept_bytes_ - newest.size();
    const std::string note =
        fmt::format("\n[assay: this log was too long; {} bytes that stood here were dropped]\n",
                    dropped_bytes_);
    (void)write_all(fd, note + newest, "the log").ok();
  }
  ::close(fd);
}

}  // namespace assay::worker
