#pragma once

// float values to the nearest values that fp16 holds, kept as floats.

#include <cstddef>
#include <cstdint>

namespace graphcore {

struct RoundingRule {
  bool nan_on_overflow = false;  // nanoo; otherwise saturates at 65504
  bool stochastic = false;
  std::uint64_t seed = 0;  // of stochastic rounding
  std::uint64_t site = 0;  // mixed with the seed: each site draws numbers of its own
};

// Rounds n values; in and out may be the same. Returns how many overflowed. The draw of element i
// depends on seed, site and `first` + i alone, whatever the order and the threads. NaN stays.
std::uint64_t round_to_half_values(const float* in, float* out, std::size_t n,
                                   const RoundingRule& rule, std::uint64_t first = 0);

}  // namespace graphcore
