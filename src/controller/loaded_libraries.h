#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::controller {

// Paths of the shared libraries in the text of /proc/<pid>/maps, sorted, each once.
std::vector<std::string> libraries_in_maps(std::string_view maps);

// A hash over the path, size and time of change of every shared library that `pid` has mapped: it
// differs when another runtime is loaded behind the same backend. "" when that cannot be read.
std::string loaded_libraries(pid_t pid);

// A hash over the names and contents of the shared libraries that lie in `folder` itself: a
// backend's own and the modules that it opens when a model first needs them, which a probe does not
// load. Errors of reading them.
Result<std::string> libraries_in_folder(const std::filesystem::path& folder);

}  // namespace assay::controller
