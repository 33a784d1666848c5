#pragma once

// What a bisection needs before its first cut. Internal to controller.

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "controller/bisect_model.h"
#include "controller/device_lock.h"
#include "controller/evaluation_run.h"
#include "controller/run.h"

namespace assay::controller {

// A folder in the cache for cuts, artifacts and logs, removed with everything in it.
class WorkFolder {
 public:
  static Result<WorkFolder> make(const std::filesystem::path& cache);
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

struct BisectPrepared {
  WorkFolder work;
  Setup setup;
  DeviceLock device;
  BisectBackend tested;
  std::string version;  // of the backend's runtime, as it says; "" when its probe failed
};

// Plans, waits for the device, opens the backend and answers its questions. Errors are bad input,
// or kCancelled.
Result<BisectPrepared> prepare_bisect(const workload::RunRequest& request,
                                      const RunEnvironment& environment);

}  // namespace assay::controller
