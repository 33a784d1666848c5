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

// By the variable POPLAR_SDK_ENABLED, which the SDK's enable.sh sets, then in the folder that
// POPLAR_SDK names, where the SDK was unpacked, down to two levels. Acquires nothing and loads
// nothing.
SdkLocation find_sdk();

// "Poplar SDK not found (looked in ...); ...", with how to get it.
std::string sdk_missing(const SdkLocation& location);

}  // namespace graphcore
