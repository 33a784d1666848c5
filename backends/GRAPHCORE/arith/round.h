#pragma once

// Rounding of arrays to fp16.

#include <cstddef>
#include <cstdint>

#include "arithmetic.h"
#include "level.h"

namespace graphcore::arith {

// Rounds n floats to binary16. Element i draws by (seed, op_key, first + i): an array may be
// rounded in pieces. NaN becomes 0x7E00; an infinity overflows.
void round_to_half(const float* in, std::uint16_t* out, std::size_t n, const Arithmetic& arithmetic,
                   std::uint64_t op_key, Counters& counters, std::size_t first = 0,
                   Level level = usable_levels().back());

// The same, kept as floats; `in` may be `out`.
void round_values(const float* in, float* out, std::size_t n, const Arithmetic& arithmetic,
                  std::uint64_t op_key, Counters& counters, std::size_t first = 0,
                  Level level = usable_levels().back());

// Exact. Every NaN becomes the quiet one.
void half_to_float(const std::uint16_t* in, float* out, std::size_t n,
                   Level level = usable_levels().back());

}  // namespace graphcore::arith
