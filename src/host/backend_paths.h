#pragma once

#include <filesystem>
#include <vector>

namespace assay::host {

// Where the backends lie that go with a program in `program_folder`: ../backends (build tree), then
// ../lib/assay/backends (install tree). What ASSAY_BACKENDS names comes before them.
std::vector<std::filesystem::path> own_backend_paths(const std::filesystem::path& program_folder);

}  // namespace assay::host
