#include "workload/output_folder.h"

#include <system_error>

#include "base/file.h"

namespace assay::workload {
namespace fs = std::filesystem;

std::vector<fs::path> missing_folders(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> missing;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "a/b/" names a/b
  while (!path.empty() && !fs::exists(path, error) && path != path.parent_path()) {
    missing.push_back(path);
    path = path.parent_path();
  }
  return missing;
}

void remove_empty_folders(const std::vector<fs::path>& innermost_first) {
  std::error_code ignored;
  for (const fs::path& path : innermost_first) fs::remove(path, ignored);
}

Status check_output_folder(const fs::path& folder, std::uint64_t needed_bytes) {
  const std::vector<fs::path> made = missing_folders(folder);
  const Status status = check_writable_folder(folder, needed_bytes);
  if (status.ok()) return status;
  remove_empty_folders(made);
  return status.with_context("--output");
}

}  // namespace assay::workload
