#pragma once

// What the operators of one loaded model share.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "options.h"

namespace graphcore {

struct DeviceState {
  DeviceState(const Options& chosen, std::size_t site_count)
      : options(chosen), overflows(site_count) {}

  void count(std::size_t site, std::uint64_t saturated) {
    if (saturated > 0 && site < overflows.size()) {
      overflows[site].fetch_add(saturated, std::memory_order_relaxed);
    }
  }

  const Options options;
  std::vector<std::atomic<std::uint64_t>> overflows;  // values that did not fit, by rounding site
};

}  // namespace graphcore
