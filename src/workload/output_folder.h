#pragma once

#include <cstdint>
#include <filesystem>

#include "base/status.h"

namespace assay::workload {

// Makes `folder` and sees that files can be created there and `needed_bytes` are free. When that
// fails, every folder that was made for it is gone again.
Status check_output_folder(const std::filesystem::path& folder, std::uint64_t needed_bytes);

}  // namespace assay::workload
