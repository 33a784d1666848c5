#include "controller/device_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "base/file.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds kRetry{50};

// Whose lock it is, as that process wrote it; for a message only.
std::string holder(const fs::path& file) {
  const Result<std::string> text = read_file(file);
  return text.ok() && !text->empty() ? "process " + *text : "another process";
}

}  // namespace

Result<DeviceLock> DeviceLock::take(const fs::path& folder, const std::string& device,
                                    const std::atomic<bool>& stop,
                                    const std::function<void(const std::string&)>& on_wait) {
  RETURN_IF_ERROR(check_writable_folder(folder, 0));
  const fs::path file = folder / (device + ".lock");
  DeviceLock lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.fd_ < 0) return errno_status(errno, "cannot open " + quoted(file));
  bool said = false;
  while (::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return errno_status(errno, "cannot lock " + quoted(file));
    }
    if (!std::exchange(said, true)) {
      on_wait(fmt::format("{} is in use by {}; waiting for it to end", device, holder(file)));
    }
    if (stop) return cancelled("interrupted while waiting for " + device);
    std::this_thread::sleep_for(kRetry);
  }
  if (::ftruncate(lock.fd_, 0) != 0) return errno_status(errno, "cannot write " + quoted(file));
  RETURN_IF_ERROR(write_all(lock.fd_, std::to_string(::getpid()), quoted(file)));
  return lock;
}

DeviceLock::DeviceLock(DeviceLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DeviceLock::~DeviceLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace assay::controller
