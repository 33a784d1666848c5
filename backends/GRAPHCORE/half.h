#pragma once

// binary16 as the chip stores it, one value at a time.

#include <cstdint>

namespace graphcore {

inline constexpr float kLargestHalf = 65504.0F;

// Exact.
float half_value(std::uint16_t bits);

// Nearest, ties to even. What is larger than kLargestHalf after rounding, infinities too, becomes
// the largest of its sign and sets `saturated`; NaN stays NaN.
std::uint16_t half_bits(float value, bool& saturated);

}  // namespace graphcore
