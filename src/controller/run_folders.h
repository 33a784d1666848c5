#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

namespace assay::controller {

// Where a run's workers log until its output folder may be written: <cache>/tmp/run-<pid>.
std::filesystem::path staging_folder(const std::filesystem::path& cache, pid_t pid);

// Removes staging folders of processes that are gone; what cannot be removed stays.
void remove_stale_staging(const std::filesystem::path& cache);

// Removes, when it goes, the folders of an output that were not there before and hold nothing:
// a run that is refused leaves no trace.
class FolderGuard {
 public:
  explicit FolderGuard(const std::filesystem::path& output);
  FolderGuard(const FolderGuard&) = delete;
  FolderGuard& operator=(const FolderGuard&) = delete;
  ~FolderGuard();

 private:
  std::vector<std::filesystem::path> missing_before_;  // innermost first
};

}  // namespace assay::controller
