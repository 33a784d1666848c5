#pragma once

#include <string>

namespace cpu {

// CPUs that this process may run on, at least 1: its affinity mask, not what the machine has, so
// that a container or taskset is obeyed. Nothing in this backend sets an affinity.
int usable_cpu_count();

// "AMD EPYC 9B14", or "host CPU" when the system does not say.
std::string processor_name();

}  // namespace cpu
