#include "round.h"

#include "kernels.h"

namespace graphcore::arith {

void round_to_half(const float* in, std::uint16_t* out, std::size_t n, const Arithmetic& arithmetic,
                   std::uint64_t op_key, Counters& counters, std::size_t first, Level level) {
  counters.overflows += kernels_of(level).round_to_half(in, out, n, rules_of(arithmetic, op_key),
                                                        static_cast<std::uint32_t>(first));
}

void round_values(const float* in, float* out, std::size_t n, const Arithmetic& arithmetic,
                  std::uint64_t op_key, Counters& counters, std::size_t first, Level level) {
  counters.overflows += kernels_of(level).round_values(in, out, n, rules_of(arithmetic, op_key),
                                                       static_cast<std::uint32_t>(first));
}

void half_to_float(const std::uint16_t* in, float* out, std::size_t n, Level level) {
  kernels_of(level).half_to_float(in, out, n);
}

}  // namespace graphcore::arith
