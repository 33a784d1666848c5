// Rounding to fp16: values worked by hand, every binary16 there is, and the definition.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "arith_test_support.h"
#include "draws.h"
#include "scalar.h"

namespace graphcore::arith {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Rounded {
  std::vector<std::uint16_t> bits;
  std::uint64_t overflows = 0;
  bool operator==(const Rounded&) const = default;
};

Rounded rounded(const std::vector<float>& values, const Arithmetic& arithmetic, Level level) {
  std::vector<std::uint16_t> bits(values.size());
  Counters counters;
  round_to_half(values.data(), bits.data(), values.size(), arithmetic, 3, counters, 0, level);
  return {bits, counters.overflows};
}

Rounded defined(const std::vector<float>& values, const Arithmetic& arithmetic) {
  std::vector<std::uint16_t> bits(values.size());
  Counters counters;
  scalar_round_to_half(values.data(), bits.data(), values.size(), arithmetic, 3, counters);
  return {bits, counters.overflows};
}

struct Known {
  float value;
  std::uint16_t bits;
};

const Known kNearest[] = {
    {0.0F, 0x0000},
    {-0.0F, 0x8000},
    {1.0F, 0x3C00},
    {-2.0F, 0xC000},
    {65504.0F, 0x7BFF},
    {65519.99F, 0x7BFF},        // the last that rounds to 65504
    {1.0F + 0x1p-11F, 0x3C00},  // ties to even
    {1.0F + 3 * 0x1p-11F, 0x3C02},
    {1.0F + 0x1p-11F + 0x1p-23F, 0x3C01},
    {2047.5F, 0x6800},              // 2048: a carry into the exponent
    {0x1p-14F, 0x0400},             // the least normal
    {0x1p-14F - 0x1p-25F, 0x0400},  // half way from the largest subnormal
    {0x1p-24F, 0x0001},
    {0x1p-25F, 0x0000},  // half of the least, to even
    {-0x1p-25F, 0x8000},
    {0x1p-25F * 1.0001F, 0x0001},
    {3 * 0x1p-25F, 0x0002},
    {std::numeric_limits<float>::denorm_min(), 0x0000},
    {kNan, 0x7E00},
    {-kNan, 0x7E00},
};

TEST(Round, NearestValuesKnownByHand) {
  std::vector<float> values;
  Rounded expected;
  for (const Known& known : kNearest) {
    values.push_back(known.value);
    expected.bits.push_back(known.bits);
  }
  EXPECT_EQ(defined(values, {}), expected);
  for (const Level level : usable_levels()) {
    EXPECT_EQ(rounded(values, {}, level), expected) << name_of(level);
  }
}

TEST(Round, WhatDoesNotFitSaturatesOrIsNanAndIsCounted) {
  const std::vector<float> values{65519.99F, 65520.0F,   -65520.0F, 1e30F,
                                  kInfinity, -kInfinity, kNan};
  const Rounded saturated{{0x7BFF, 0x7BFF, 0xFBFF, 0x7BFF, 0x7BFF, 0xFBFF, 0x7E00}, 5};
  const Rounded lost{{0x7BFF, 0x7E00, 0x7E00, 0x7E00, 0x7E00, 0x7E00, 0x7E00}, 5};
  const Arithmetic nanoo{.overflow = Overflow::kNan};
  EXPECT_EQ(defined(values, {}), saturated);
  EXPECT_EQ(defined(values, nanoo), lost);
  for (const Level level : usable_levels()) {
    EXPECT_EQ(rounded(values, {}, level), saturated) << name_of(level);
    EXPECT_EQ(rounded(values, nanoo, level), lost) << name_of(level);
  }
}

TEST(Round, EveryBinary16ComesBackAsItself) {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const Level level : usable_levels()) {
    std::vector<float> values(all.size());
    half_to_float(all.data(), values.data(), all.size(), level);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double expected = scalar_half_value(all[i]);
      if (std::isnan(expected)) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), 0x7FC00000U) << i;
        continue;
      }
      ASSERT_EQ(static_cast<double>(values[i]), expected) << name_of(level) << " " << i;
      ASSERT_EQ(std::signbit(values[i]), std::signbit(expected)) << i;
      if (std::isinf(expected)) continue;
      ASSERT_EQ(scalar_half_bits(expected), all[i]);
    }
    for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kStochastic}) {
      const Rounded back = rounded(values, {.rounding = rounding}, level);
      EXPECT_EQ(back.overflows, 2U);  // the infinities
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (!std::isfinite(values[i])) continue;
        ASSERT_EQ(back.bits[i], all[i]) << name_of(level);
      }
    }
  }
}

// Bits of all kinds: every exponent, NaNs and subnormals among them.
std::vector<float> any_bits(std::size_t n) {
  std::mt19937 random(5);
  std::vector<float> values(n);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return values;
}

// Bits whose exponents are those around fp16's.
std::vector<float> near_half(std::size_t n) {
  std::mt19937 random(6);
  std::vector<float> values(n);
  for (float& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    value = std::bit_cast<float>((bits & 0x807FFFFF) | ((98 + (bits >> 23) % 48) << 23));
  }
  return values;
}

TEST(Round, IsAsDefinedAtEveryLevelAndLength) {
  for (const Arithmetic& arithmetic : every_arithmetic()) {
    for (const std::size_t n : {1U, 3U, 17U, 20011U}) {
      for (const std::vector<float>& values : {any_bits(n), near_half(n)}) {
        const Rounded expected = defined(values, arithmetic);
        for (const Level level : usable_levels()) {
          ASSERT_EQ(rounded(values, arithmetic, level), expected)
              << name_of(arithmetic) << " " << name_of(level) << " " << n;
          std::vector<float> kept(n);
          Counters counters;
          round_values(values.data(), kept.data(), n, arithmetic, 3, counters, 0, level);
          std::vector<std::uint16_t> bits;
          for (const float value : kept) bits.push_back(scalar_half_bits(value));
          ASSERT_EQ((Rounded{bits, counters.overflows}), expected) << name_of(level);
        }
      }
    }
  }
}

TEST(Round, PiecesAreAsTheWhole) {
  const std::vector<float> values = near_half(1000);
  const Arithmetic arithmetic{.rounding = Rounding::kStochastic, .seed = 9};
  for (const Level level : usable_levels()) {
    const Rounded whole = rounded(values, arithmetic, level);
    Rounded pieces{std::vector<std::uint16_t>(1000), 0};
    Counters counters;
    for (const auto& [first, n] : {std::pair{0U, 333U}, std::pair{333U, 667U}}) {
      round_to_half(values.data() + first, pieces.bits.data() + first, n, arithmetic, 3, counters,
                    first, level);
    }
    pieces.overflows = counters.overflows;
    EXPECT_EQ(pieces, whole) << name_of(level);
  }
}

// How many of n draws go up from `value` whose neighbours are `down` and the next.
std::size_t ups(float value, std::size_t n, std::uint64_t seed) {
  std::vector<float> values(n, value);
  Counters counters;
  round_values(values.data(), values.data(), n, {.rounding = Rounding::kStochastic, .seed = seed},
               3, counters);
  std::size_t count = 0;
  for (const float rounded_value : values) count += static_cast<std::size_t>(rounded_value > value);
  return count;
}

TEST(Stochastic, IsUnbiased) {
  constexpr std::size_t n = 1U << 20;
  struct Part {
    float value;
    double up;  // probability
  };
  const Part parts[] = {
      {1.0F + 0x1p-12F, 0.25},  {1.0F + 0x1p-11F, 0.5}, {1000.0F + 7 * 0x1p-4F, 7 / 8.0},
      {0x1p-24F * 5.75F, 0.75}, {0x1p-26F, 0.25},       {1.0F + 0x1p-23F, 0x1p-13}};
  for (const Part& part : parts) {
    const double deviation = std::sqrt(n * part.up * (1 - part.up));
    // Five standard deviations; the seed is fixed, so that it holds always or never.
    EXPECT_NEAR(static_cast<double>(ups(part.value, n, 1)), n * part.up, 5 * deviation)
        << part.value;
  }
}

TEST(Stochastic, TheSeedAndTheOperatorDecide) {
  const std::vector<float> values(4096, 1.0F + 0x1p-11F);
  const auto bits = [&](std::uint64_t seed, std::uint64_t op_key) {
    std::vector<std::uint16_t> out(values.size());
    Counters counters;
    round_to_half(values.data(), out.data(), values.size(),
                  {.rounding = Rounding::kStochastic, .seed = seed}, op_key, counters);
    return out;
  };
  EXPECT_EQ(bits(1, 1), bits(1, 1));
  EXPECT_NE(bits(1, 1), bits(2, 1));
  EXPECT_NE(bits(1, 1), bits(1, 2));
}

// A negative value goes up in magnitude by the same draw as a positive one.
TEST(Stochastic, IsSymmetric) {
  const Arithmetic arithmetic{.rounding = Rounding::kStochastic};
  std::vector<float> values = near_half(1000);
  const Rounded plus = rounded(values, arithmetic, Level::kPlain);
  for (float& value : values) value = -value;
  const Rounded minus = rounded(values, arithmetic, Level::kPlain);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(plus.bits[i] ^ 0x8000, minus.bits[i]);
}

}  // namespace
}  // namespace graphcore::arith
