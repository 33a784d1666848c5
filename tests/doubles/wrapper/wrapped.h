#pragma once

#include "assay/backend.h"

namespace wrapper {

// The backend behind the wrapper: opened on first use, never unloaded. Its library is that of
// ASSAY_WRAPPED_LIBRARY, else the CPU backend of this build. Throws ASSAY_UNAVAILABLE when it
// cannot be opened, or what its entry refused with.
const assay_plugin& wrapped_plugin(const assay_host* host);

}  // namespace wrapper
