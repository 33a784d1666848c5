#include "host/backend_paths.h"

namespace assay::host {

std::vector<std::filesystem::path> own_backend_paths(const std::filesystem::path& program_folder) {
  return {program_folder / ".." / "backends", program_folder / ".." / "lib" / "assay" / "backends"};
}

}  // namespace assay::host
