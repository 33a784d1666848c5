#pragma once

// What the operators of one loaded model share.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "arithmetic.h"
#include "options.h"

namespace graphcore {

// The arithmetic of products and convolutions, and of everything else, by the options; the seed is
// each call's own.
inline arith::Arithmetic arithmetic_of(const Options& options, bool half_partials) {
  arith::Arithmetic arithmetic;
  arithmetic.half_storage = options.half();
  arithmetic.partials = half_partials ? arith::Partials::kHalf : arith::Partials::kFloat;
  arithmetic.overflow = options.nanoo ? arith::Overflow::kNan : arith::Overflow::kSaturate;
  return arithmetic;
}

// Of weights, which the host rounds: to nearest whatever the chip does.
inline arith::Arithmetic weight_arithmetic(const Options& options) {
  return arithmetic_of(options, false);
}

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
