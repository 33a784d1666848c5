#include "usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace cpu {

int usable_cpu_count() {
  // The kernel refuses a mask smaller than its own, whose size it does not tell.
  constexpr std::size_t kMostCpus = std::size_t{1} << 16;
  for (std::size_t cpus = 1024; cpus <= kMostCpus; cpus *= 2) {
    const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(cpus), free_set);
    const std::size_t size_bytes = CPU_ALLOC_SIZE(cpus);
    if (sched_getaffinity(0, size_bytes, set.get()) == 0) {
      return std::max(1, CPU_COUNT_S(size_bytes, set.get()));
    }
  }
  return 1;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "host CPU";
}

}  // namespace cpu
