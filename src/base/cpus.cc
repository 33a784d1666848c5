#include "base/cpus.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace assay {

std::uint32_t usable_cpus() {
  // The kernel refuses a set that is too small for the machine; how large it must be it never says.
  constexpr int kMostCpus = 1 << 20;
  for (int cpus = 1024; cpus <= kMostCpus; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<std::size_t>(cpus)), [](cpu_set_t* freed) { CPU_FREE(freed); });
    if (!set) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    if (::sched_getaffinity(0, bytes, set.get()) == 0) {
      return static_cast<std::uint32_t>(std::max(CPU_COUNT_S(bytes, set.get()), 1));
    }
    if (errno != EINVAL) break;
  }
  return static_cast<std::uint32_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

}  // namespace assay
