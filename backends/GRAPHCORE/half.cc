#include "half.h"

#include <algorithm>
#include <cmath>

namespace graphcore {
namespace {

constexpr std::uint16_t kSign = 0x8000;
constexpr std::uint16_t kInfinity = 0x7C00;
constexpr std::uint16_t kNan = 0x7E00;
constexpr std::uint16_t kLargest = 0x7BFF;
constexpr int kExponentBias = 15;
constexpr int kMantissaBits = 10;
constexpr int kLeastExponent = -14;

}  // namespace

float half_value(std::uint16_t bits) {
  const int exponent = (bits & kInfinity) >> kMantissaBits;
  const int mantissa = bits & 0x3FF;
  float value = 0;
  if (exponent == 0x1F) {
    value = mantissa != 0 ? NAN : INFINITY;
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<float>(mantissa), kLeastExponent - kMantissaBits);
  } else {
    value = std::ldexp(static_cast<float>(mantissa + (1 << kMantissaBits)),
                       exponent - kExponentBias - kMantissaBits);
  }
  return (bits & kSign) != 0 ? -value : value;
}

std::uint16_t half_bits(float value, bool& saturated) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? kSign : 0);
  if (std::isnan(value)) return sign | kNan;
  const float magnitude = std::fabs(value);
  // 65520 is half way to what would be the next value; ties go there.
  if (magnitude >= 65520.0F) {
    saturated = true;
    return sign | kLargest;
  }
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = f * 2^exponent, f in [0.5, 1)
  const int lowest = std::max(exponent - 1, kLeastExponent);
  // In units of the last place; nearbyint rounds ties to even.
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, kMantissaBits - lowest)));
  // A carry out of the mantissa is a carry into the exponent.
  const int base = (lowest - kLeastExponent) << kMantissaBits;
  return sign | static_cast<std::uint16_t>(base + units);
}

}  // namespace graphcore
