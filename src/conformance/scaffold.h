#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::conformance {

// Writes the files of a new backend into `parent`/<hardware_type>, which must not be there or be
// empty, and gives their paths. `language` is "cpp" or "python". kInvalidArgument for another one,
// or for a name that is no hardware type; kAlreadyExists.
Result<std::vector<std::filesystem::path>> write_new_backend(std::string_view hardware_type,
                                                             std::string_view language,
                                                             const std::filesystem::path& parent);

}  // namespace assay::conformance
