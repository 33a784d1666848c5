#pragma once

// Where the Poplar SDK lies on this machine, found at run time: nothing here is built against it.

#include <string>
#include <vector>

namespace graphcore {

struct SdkLocation {
  std::string folder;                  // Poplar's own: it has lib/libpoplar.so; "" when not found
  std::vector<std::string> looked_in;  // every place, with what named it

  bool found() const { return !folder.empty(); }
};

// The variable POPLAR_SDK_ENABLED, which the SDK's enable.sh sets, then the folders below `roots`
// and their sub-folders. Acquires nothing and loads nothing.
SdkLocation find_sdk(const std::vector<std::string>& roots = {"/opt/gc", "/opt/poplar_sdk"});

// "Poplar SDK not found (looked in ...); ...", with how to get it.
std::string sdk_missing(const SdkLocation& location);

}  // namespace graphcore
