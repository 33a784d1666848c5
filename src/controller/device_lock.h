#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace assay::controller {

// Keeps two runs of one user off one device, where each would slow the other and neither would say
// so. Held through flock(2) on a file in the cache, so that it goes with the process that has it.
class DeviceLock {
 public:
  // Waits while another process has the lock of `device` (a hardware type); `on_wait` is called
  // once, before waiting, with a sentence that names that process. kCancelled when `stop` is set
  // first.
  static Result<DeviceLock> take(const std::filesystem::path& folder, const std::string& device,
                                 const std::atomic<bool>& stop,
                                 const std::function<void(const std::string&)>& on_wait);
  DeviceLock(DeviceLock&& other) noexcept;
  DeviceLock& operator=(DeviceLock&&) = delete;
  ~DeviceLock();

 private:
  explicit DeviceLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace assay::controller
