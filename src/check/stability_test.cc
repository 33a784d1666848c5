#include "check/stability.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/testing.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

// Two samples of three classes.
constexpr std::size_t kValues = 6;
using Values = std::array<float, kValues>;

std::vector<TensorView> view(const Values& values) {
  return {{{"y", DType::kFloat32, {2, 3}}, std::as_bytes(std::span(values))}};
}

class StabilityCounterTest : public ::testing::Test {
 protected:
  StabilityCounterTest() {
    expected_ = {view(first_), view(second_), view(third_)};
    counter_.emplace(StabilityCounter::create(expected_, 2, 0).value());
  }

  void add(std::uint64_t slot, const Values& got, std::uint64_t previous = 0,
           std::uint64_t poison = 0, bool input_changed = false) {
    ASSERT_THAT(counter_->add({.call = call_++,
                               .slot = slot,
                               .previous = previous,
                               .first = 0,
                               .poison = poison,
                               .input_changed = input_changed},
                              view(got)),
                IsOk());
  }

  Values first_{1, 2, 3, 6, 5, 4};
  Values second_{7, 8, 9, 1, 0, 0};
  Values third_{0, 0, 1, 0, 1, 0};
  std::vector<std::vector<TensorView>> expected_;
  std::optional<StabilityCounter> counter_;
  std::uint64_t call_ = 0;
};

TEST_F(StabilityCounterTest, EqualBitsAreNoDifference) {
  add(0, first_);
  add(1, second_);
  const CallDifferences seen = counter_->finish();
  EXPECT_EQ(seen.calls, 2U);
  EXPECT_EQ(seen.differing, 0U);
  EXPECT_FALSE(seen.first_differing);
  EXPECT_EQ(seen.outputs[0].max_abs, 0.0);
  ASSERT_EQ(seen.call_crcs.size(), 2U);
  EXPECT_NE(seen.call_crcs[0], seen.call_crcs[1]);
}

TEST_F(StabilityCounterTest, MinusZeroIsADifferenceOfBits) {
  Values got = third_;
  got[0] = -0.0F;
  add(2, got);
  EXPECT_EQ(counter_->finish().differing, 1U);
  EXPECT_EQ(counter_->finish().outputs[0].max_abs, 0.0);
}

TEST_F(StabilityCounterTest, RowsDifferencesAndFlipsAreCounted) {
  Values got = first_;
  got[4] = 6.5F;  // the second sample's best class was 0 and is 1 now
  add(0, first_);
  add(0, got);
  add(0, first_);
  const CallDifferences seen = counter_->finish();
  EXPECT_EQ(seen.differing, 1U);
  EXPECT_EQ(seen.label_flips, 1U);
  EXPECT_EQ(seen.first_differing, 1U);
  EXPECT_EQ(seen.agreeing_after_first, 1U);
  EXPECT_EQ(seen.outputs[0].max_abs, 1.5);
  // A unit in the last place of a number in [4, 8) is 2^-21.
  EXPECT_EQ(seen.outputs[0].max_ulps, 1.5 * (1 << 21));
  ASSERT_EQ(seen.rows.size(), 1U);
  EXPECT_EQ(seen.rows[0].row, 1U);
  EXPECT_EQ(seen.rows[0].call, 1U);
}

TEST_F(StabilityCounterTest, AnswersOfOtherCallsAreRecognised) {
  add(0, first_);
  add(1, first_, /*previous=*/0);   // of the call before, which was the first
  add(2, second_, /*previous=*/1);  // of the call before
  add(0, third_, /*previous=*/1);   // of neither
  const CallDifferences seen = counter_->finish();
  EXPECT_EQ(seen.differing, 3U);
  EXPECT_EQ(seen.as_other, 3U);
  EXPECT_EQ(seen.as_previous, 2U);
  EXPECT_EQ(seen.as_first, 1U);
  EXPECT_EQ(seen.agreeing_after_first, 0U);
}

TEST_F(StabilityCounterTest, WhatTheBufferHeldShowsAsUnwritten) {
  constexpr std::uint64_t poison = 0x1122'3344'5566'7788;
  Values got = first_;
  // The sixth value begins at byte 20, in the middle of the eight bytes.
  std::memcpy(&got[5], reinterpret_cast<const char*>(&poison) + 4, sizeof(float));
  add(0, got, 0, poison);
  Values other = first_;
  other[5] = 4.25F;
  add(0, other, 0, poison);
  const CallDifferences seen = counter_->finish();
  EXPECT_EQ(seen.differing, 2U);
  EXPECT_EQ(seen.unwritten, 1U);
}

TEST_F(StabilityCounterTest, ChangedInputsAndNonFiniteValuesAreCounted) {
  Values got = first_;
  got[1] = std::numeric_limits<float>::quiet_NaN();
  add(0, got, 0, 0, /*input_changed=*/true);
  const CallDifferences seen = counter_->finish();
  EXPECT_EQ(seen.inputs_changed, 1U);
  EXPECT_EQ(seen.outputs[0].nonfinite, 1U);
}

TEST_F(StabilityCounterTest, AnotherShapeIsCountedAndNotCompared) {
  const std::vector<TensorView> got = {
      {{"y", DType::kFloat32, {3, 2}}, std::as_bytes(std::span(first_))}};
  ASSERT_THAT(counter_->add({}, got), IsOk());
  EXPECT_EQ(counter_->finish().shape_changes, 1U);
  EXPECT_EQ(counter_->finish().differing, 1U);
}

TEST_F(StabilityCounterTest, WrongCallsAreRefused) {
  EXPECT_THAT(counter_->add({.slot = 3}, view(first_)),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("3 of 3")));
  EXPECT_THAT(counter_->add({}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("0 outputs, 1")));
}

TEST_F(StabilityCounterTest, CountsTravelAsJson) {
  Values got = first_;
  got[4] = 6.5F;
  add(0, got);
  CallDifferences sums = call_differences_from_json(to_json(counter_->finish())).value();
  EXPECT_EQ(sums.label_flips, 1U);
  EXPECT_EQ(sums.rows.size(), 1U);
  sums.add(counter_->finish());
  EXPECT_EQ(sums.calls, 2U);
  EXPECT_EQ(sums.differing, 2U);
  EXPECT_EQ(sums.outputs[0].max_abs, 1.5);
  EXPECT_THAT(call_differences_from_json(Json{{"calls", "many"}}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("counted differences")));
}

}  // namespace
}  // namespace assay::check
