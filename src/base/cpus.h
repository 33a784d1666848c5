#pragma once

#include <cstdint>

namespace assay {

// CPUs that this process may run on: a container may be confined to few of the host's.
std::uint32_t usable_cpus();

}  // namespace assay
