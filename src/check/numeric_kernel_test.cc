#include "check/numeric_kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace assay::check {
namespace {

template <typename T>
PairBlock block_of(const std::vector<T>& ref, const std::vector<T>& got) {
  return {std::as_bytes(std::span(ref)).data(), std::as_bytes(std::span(got)).data(), nullptr,
          ref.size()};
}

template <typename T>
struct Pairs {
  std::vector<T> ref, got;
};

// Values of every magnitude, subnormal ones and zeros of either sign among them.
template <typename T>
Pairs<T> random_pairs(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::uniform_int_distribution<int> exponent(-149, 60);
  Pairs<T> pairs;
  for (std::size_t i = 0; i < size; ++i) {
    const double ref = i % 7 == 3 ? -0.0 : std::ldexp(uniform(random), exponent(random));
    pairs.ref.push_back(static_cast<T>(ref));
    pairs.got.push_back(static_cast<T>(i % 5 == 0 ? ref : ref * (1 + 1e-5 * uniform(random))));
  }
  return pairs;
}

// Every figure as bits.
std::vector<std::uint64_t> bits_of(const PairSums& sums) {
  std::vector<std::uint64_t> bits = {sums.differing, sums.outside, sums.relative_elements};
  for (const double value :
       {sums.pivot, sums.abs_shifted, sums.abs_shifted_squared, sums.signed_sum, sums.squared,
        sums.ref_ref, sums.got_got, sums.ref_got, sums.max_abs, sums.relative, sums.max_relative,
        sums.max_ulps}) {
    bits.push_back(std::bit_cast<std::uint64_t>(value));
  }
  return bits;
}

template <typename T>
void expect_same_bits(PairFunction NumericKernel::* function) {
  const NumericKernel& plain = numeric_kernels().back();
  ASSERT_EQ(plain.instruction_set, std::string("baseline"));
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 500U, 511U, 512U}) {
    const Pairs<T> pairs = random_pairs<T>(size, static_cast<unsigned>(size));
    const PairRules rules{1e-30, 1e-6, {24, -126}};
    PairValues want_values{};
    const PairSums want = (plain.*function)(block_of(pairs.ref, pairs.got), rules, &want_values);
    for (const NumericKernel& kernel : numeric_kernels()) {
      SCOPED_TRACE(std::string(kernel.instruction_set) + ", size " + std::to_string(size));
      PairValues values{};
      const PairSums got = (kernel.*function)(block_of(pairs.ref, pairs.got), rules, &values);
      EXPECT_EQ(bits_of(got), bits_of(want));
      EXPECT_EQ(values.diff, want_values.diff);
      EXPECT_EQ(values.places, want_values.places);
      const PairSums alone = (kernel.*function)(block_of(pairs.ref, pairs.got), rules, nullptr);
      EXPECT_EQ(bits_of(alone), bits_of(want));
    }
  }
}

TEST(NumericKernel, EveryInstructionSetGivesTheSameBits) {
  expect_same_bits<float>(&NumericKernel::float32);
  expect_same_bits<double>(&NumericKernel::float64);
}

TEST(NumericKernel, Float32AndItsDoublesGiveTheSameBits) {
  const Pairs<float> pairs = random_pairs<float>(509, 3);
  const Pairs<double> wide{{pairs.ref.begin(), pairs.ref.end()},
                           {pairs.got.begin(), pairs.got.end()}};
  for (const NumericKernel& kernel : numeric_kernels()) {
    SCOPED_TRACE(kernel.instruction_set);
    EXPECT_EQ(bits_of(kernel.float32(block_of(pairs.ref, pairs.got), {}, nullptr)),
              bits_of(kernel.float64(block_of(wide.ref, wide.got), {}, nullptr)));
  }
}

TEST(NumericKernel, SumsAreThoseOfTheElements) {
  const std::vector<float> ref{1, -2, 0, 4, 0.5F, 8, 16, 32, -64};
  const std::vector<float> got{1, -3, 2, 4, 0.5F, 8, 16, 32, -60};
  for (const NumericKernel& kernel : numeric_kernels()) {
    SCOPED_TRACE(kernel.instruction_set);
    const PairSums sums = kernel.float32(block_of(ref, got), {0.0, 0.5, {24, -126}}, nullptr);
    EXPECT_EQ(sums.abs_shifted, 7.0);
    EXPECT_EQ(sums.signed_sum, 5.0);
    EXPECT_EQ(sums.squared, 21.0);
    EXPECT_EQ(sums.max_abs, 4.0);
    EXPECT_EQ(sums.differing, 3U);
    EXPECT_EQ(sums.outside, 1U);  // 2 where the reference is 0; -3 is at the bound
    EXPECT_EQ(sums.relative_elements, 8U);
    EXPECT_EQ(sums.relative, 0.5 + 0.0625);
    EXPECT_EQ(sums.max_relative, 0.5);
    EXPECT_EQ(sums.max_ulps, 0x1p22);  // 1 at 2, where the last place is 2^-22
  }
}

TEST(NumericKernel, ALargeMeanDoesNotCancelTheSpread) {
  const std::vector<double> ref(510, 0.0);
  std::vector<double> got;
  for (int i = 0; i < 510; ++i) got.push_back(1e9 + (i % 2 == 0 ? 0.001953125 : -0.001953125));
  for (const NumericKernel& kernel : numeric_kernels()) {
    SCOPED_TRACE(kernel.instruction_set);
    const PairSums sums = kernel.float64(block_of(ref, got), {}, nullptr);
    EXPECT_EQ(sums.pivot, 1e9);
    EXPECT_EQ(sums.abs_shifted_squared, 510 * 0x1p-18);
  }
}

TEST(NumericKernel, WhatIsNotFiniteShowsInTheSquares) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const NumericKernel& kernel : numeric_kernels()) {
    SCOPED_TRACE(kernel.instruction_set);
    for (const float odd : {kNaN, kInf, -kInf}) {
      std::vector<float> ref(9, 1.0F);
      const std::vector<float> plain = ref;
      ref[8] = odd;
      PairSums sums = kernel.float32(block_of(ref, plain), {}, nullptr);
      EXPECT_FALSE(std::isfinite(sums.ref_ref + sums.got_got));
      sums = kernel.float32(block_of(plain, ref), {}, nullptr);
      EXPECT_FALSE(std::isfinite(sums.ref_ref + sums.got_got));
    }
  }
}

TEST(NumericKernel, SlotsOfMagnitudes) {
  const std::vector<double> values{0.0, -0.0, 5e-324, 0.25, 0.5, -0.75, 1.0, 1.5, 3.99, 4.0, 1e300};
  const std::vector<std::uint32_t> want{0, 0, 1, 1, 1, 2, 3, 4, 6, 6, 6};
  for (const NumericKernel& kernel : numeric_kernels()) {
    SCOPED_TRACE(kernel.instruction_set);
    std::vector<std::uint32_t> slots(values.size());
    kernel.log_slots(values, {-1, 1, 6}, slots.data());
    EXPECT_EQ(slots, want);
  }
}

TEST(NumericKernel, SlotsOfEqualSteps) {
  const std::vector<double> values{-9, -4, -3.5, -0.5, -0.0, 0.0, 0.5, 1, 3.99, 4, 1e300};
  const std::vector<std::uint32_t> want{0, 0, 0, 3, 4, 4, 4, 5, 7, 7, 7};
  for (const NumericKernel& kernel : numeric_kernels()) {
    SCOPED_TRACE(kernel.instruction_set);
    std::vector<std::uint32_t> slots(values.size());
    kernel.step_slots(values, 1.0, 8, slots.data());
    EXPECT_EQ(slots, want);
  }
}

}  // namespace
}  // namespace assay::check
