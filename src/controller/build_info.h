#pragma once

#include <string>

namespace assay::controller {

// How this program was built; from CMake.
struct BuildInfo {
  std::string version;
  std::string git_commit;  // "" when it was not built in a checkout
  std::string compiler;
  std::string build_type;
};
const BuildInfo& build_info();

}  // namespace assay::controller
