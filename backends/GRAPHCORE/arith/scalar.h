#pragma once

// The definition of the arithmetic: plain loops in double precision, one value at a time. The fast
// functions of round.h, matmul.h and conv2d.h answer the same bits; this one is what they are
// tested against and is never what a model runs by.

#include <cstddef>
#include <cstdint>

#include "arithmetic.h"

namespace graphcore::arith {

// The fp16 value that `value`, a float's, becomes. `draw` counts only for stochastic rounding.
double scalar_round(double value, const Arithmetic& arithmetic, std::uint32_t draw,
                    Counters& counters);

// binary16 of a value that fp16 holds, and back. NaN becomes 0x7E00.
std::uint16_t scalar_half_bits(double value);
double scalar_half_value(std::uint16_t bits);

// As round_to_half of round.h.
void scalar_round_to_half(const float* in, std::uint16_t* out, std::size_t n,
                          const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters);

// As matmul of matmul.h; bias may be null.
void scalar_matmul(const MatMulShape& shape, const float* a, const float* b, const float* bias,
                   float* out, const Arithmetic& arithmetic, std::uint64_t op_key,
                   Counters& counters);

// As conv2d of conv2d.h; bias may be null.
void scalar_conv2d(const Conv2dShape& shape, const float* input, const float* weights,
                   const float* bias, float* out, const Arithmetic& arithmetic,
                   std::uint64_t op_key, Counters& counters);

}  // namespace graphcore::arith
