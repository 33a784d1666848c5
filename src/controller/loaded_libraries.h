#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace assay::controller {

// Paths of the shared libraries in the text of /proc/<pid>/maps, sorted, each once.
std::vector<std::string> libraries_in_maps(std::string_view maps);

// A hash over the path, size and time of change of every shared library that `pid` has mapped: it
// differs when another runtime is loaded behind the same backend. "" when that cannot be read.
std::string loaded_libraries(pid_t pid);

}  // namespace assay::controller
