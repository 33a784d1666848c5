#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/status.h"

namespace assay::workload {

// `folder` and its parents as far as they do not exist, innermost first. Never throws: what cannot
// be looked at counts as missing.
std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& folder);

// Removes those of the folders that hold nothing: what is not empty is somebody's work.
void remove_empty_folders(const std::vector<std::filesystem::path>& innermost_first);

// Makes `folder` and sees that files can be created there and `needed_bytes` are free. When that
// fails, every folder that was made for it is gone again.
Status check_output_folder(const std::filesystem::path& folder, std::uint64_t needed_bytes);

}  // namespace assay::workload
