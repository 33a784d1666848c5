#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::controller {

// Where a run's workers log until its output folder may be written: <cache>/tmp/run-<pid>.
std::filesystem::path staging_folder(const std::filesystem::path& cache, pid_t pid);

// Removes staging folders of processes that are gone; what cannot be removed stays.
void remove_stale_staging(const std::filesystem::path& cache);

// Removes what processes that are gone left unfinished in a folder, not in those below it: files
// that were to be renamed, and those that tried whether one can be written.
void remove_stale_partials(const std::filesystem::path& folder);

// Removes, when it goes, the folders of an output that were not there before and hold nothing:
// a run that is refused leaves no trace.
class FolderGuard {
 public:
  FolderGuard() = default;
  explicit FolderGuard(const std::filesystem::path& output);
  FolderGuard(const FolderGuard&) = delete;
  FolderGuard& operator=(const FolderGuard&) = delete;
  ~FolderGuard();

  // Makes parent/name, or parent/name-2, -3, ... when that is there: a folder that no other process
  // has. It and what was made around it are guarded.
  Result<std::filesystem::path> claim(const std::filesystem::path& parent, const std::string& name);

 private:
  std::vector<std::filesystem::path> missing_before_;  // innermost first
};

}  // namespace assay::controller
