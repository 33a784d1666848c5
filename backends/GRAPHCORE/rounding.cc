#include "rounding.h"

#include <bit>
#include <cmath>
#include <limits>

#include "half.h"

namespace graphcore {
namespace {

constexpr std::uint32_t kSign = 0x80000000U;
constexpr std::uint32_t kDropped = 0x1FFF;        // mantissa bits that fp16 has not got
constexpr std::uint32_t kLeastNormal = 0x38800000U;  // 2^-14
constexpr std::uint32_t kInfinity = 0x7F800000U;
constexpr float kDenormalStep = 0x1p-24F;

// Nearest of a magnitude, ties to even; may exceed kLargestHalf.
inline float nearest(std::uint32_t magnitude) {
  const float normal = std::bit_cast<float>(
      (magnitude + (kDropped >> 1) + ((magnitude >> 13) & 1)) & ~kDropped);
  // At 0.5 a float's last place is fp16's denormal step.
  const float denormal = (std::bit_cast<float>(magnitude) + 0.5F) - 0.5F;
  return magnitude < kLeastNormal ? denormal : normal;
}

// splitmix64's finish: a counter becomes a draw.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// Down or up, up with the probability of the part that is dropped.
inline float by_chance(std::uint32_t magnitude, std::uint64_t draw) {
  if (magnitude < kLeastNormal) {
    const float steps = std::bit_cast<float>(magnitude) / kDenormalStep;
    const float chance = static_cast<float>(draw >> 40) * 0x1p-24F;
    const float down = std::floor(steps);
    return (down + (steps - down > chance ? 1.0F : 0.0F)) * kDenormalStep;
  }
  return std::bit_cast<float>((magnitude + (static_cast<std::uint32_t>(draw) & kDropped)) &
                              ~kDropped);
}

inline float limited(float rounded, float overflowed) {
  return rounded > kLargestHalf ? overflowed : rounded;
}

}  // namespace

std::uint64_t round_to_half_values(const float* in, float* out, std::size_t n,
                                   const RoundingRule& rule, std::uint64_t first) {
  const float over = rule.nan_on_overflow ? std::numeric_limits<float>::quiet_NaN() : kLargestHalf;
  const std::uint64_t key = mix(rule.seed ^ mix(rule.site + 1));
  std::uint32_t overflows = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(in[i]);
    const std::uint32_t magnitude = bits & ~kSign;
    const bool nan = magnitude > kInfinity;
    // Infinity overflows; adding to its bits would make it NaN.
    const std::uint32_t finite = magnitude < kInfinity ? magnitude : kInfinity - (kDropped + 1);
    const float rounded =
        rule.stochastic ? by_chance(finite, mix(key + first + i)) : nearest(finite);
    overflows += static_cast<std::uint32_t>(!nan && rounded > kLargestHalf);
    const float value = limited(rounded, over);
    const float signed_value =
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | (bits & kSign));
    out[i] = nan ? in[i] : signed_value;
  }
  return overflows;
}

}  // namespace graphcore
