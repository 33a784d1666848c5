#include "check/outputs_match.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/testing.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

MatchResult match(const std::vector<float>& accuracy_run, const std::vector<float>& timed_run,
                  const MatchOptions& options = {}) {
  const auto size = static_cast<std::int64_t>(accuracy_run.size());
  Result<OutputsMatch> matcher = OutputsMatch::create({{"y", DType::kFloat32, {size}}}, options);
  EXPECT_THAT(matcher, IsOk());
  EXPECT_THAT(matcher->add(5, 0, bytes(accuracy_run), bytes(timed_run)), IsOk());
  return matcher->finish();
}

TEST(OutputsMatch, EqualBitsAreIdentical) {
  const MatchResult result = match({1, 2}, {1, 2});
  EXPECT_EQ(result.verdict, MatchVerdict::kIdentical);
  EXPECT_EQ(result.bit_identical, 1U);
}

TEST(OutputsMatch, NothingComparedIsNotAPass) {
  EXPECT_EQ(OutputsMatch::create({{"y", DType::kFloat32, {1}}}, {})->finish().verdict,
            MatchVerdict::kNothingCompared);
}

TEST(OutputsMatch, RoundingOfAnotherBatchSizeIsWithinTolerance) {
  const MatchResult result = match({100, 1e-3F}, {100, 1e-3F + 1e-5F});
  EXPECT_EQ(result.verdict, MatchVerdict::kWithinTolerance);
  EXPECT_NEAR(result.max_abs, 1e-5, 1e-9);
  EXPECT_THAT(result.reason, HasSubstr("by rounding"));
}

TEST(OutputsMatch, AnotherSamplesOutputIsDriftAndNamesTheSample) {
  const MatchResult result = match({1, 0, 0}, {0, 1, 0});
  EXPECT_EQ(result.verdict, MatchVerdict::kDrifted);
  EXPECT_EQ(result.first_drifted_sample, 5U);
  EXPECT_THAT(result.reason, AllOf(HasSubstr("sample 5"), HasSubstr("\"y\"")));
}

TEST(OutputsMatch, OutputLeftAtZeroIsDrift) {
  EXPECT_EQ(match({0, 0}, {1, 0}).verdict, MatchVerdict::kDrifted);
  EXPECT_EQ(match({1, 2}, {0, 0}).verdict, MatchVerdict::kDrifted);
  EXPECT_TRUE(to_json(match({0, 0}, {1, 0}))["max_scaled"].is_null());
}

TEST(OutputsMatch, NanInOneRunOnlyIsDriftWhateverTheTolerance) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  MatchOptions options;
  options.tolerance = 1e9;
  const MatchResult result = match({1, 2}, {1, nan}, options);
  EXPECT_EQ(result.verdict, MatchVerdict::kDrifted);
  EXPECT_THAT(result.reason, HasSubstr("NaN"));
  EXPECT_EQ(match({nan, 2}, {nan, 2}).verdict, MatchVerdict::kIdentical);
  EXPECT_EQ(match({nan, 2}, {nan, 2.0001F}).verdict, MatchVerdict::kWithinTolerance);
}

TEST(OutputsMatch, NegativeZeroIsWithinTolerance) {
  EXPECT_EQ(match({0, 0}, {-0.0F, 0}).verdict, MatchVerdict::kWithinTolerance);
}

TEST(OutputsMatch, IntegersMustBeEqual) {
  Result<OutputsMatch> matcher = OutputsMatch::create({{"class", DType::kInt64, {1}}}, {});
  const std::vector<std::int64_t> a{798};
  const std::vector<std::int64_t> b{644};
  ASSERT_THAT(matcher->add(1, 0, bytes(a), bytes(a)), IsOk());
  ASSERT_THAT(matcher->add(2, 0, bytes(a), bytes(b)), IsOk());
  const MatchResult result = matcher->finish();
  EXPECT_EQ(result.drifted, 1U);
  EXPECT_EQ(result.first_drifted_sample, 2U);
}

TEST(OutputsMatch, ToleranceIsThatOfTheCoarserOfOutputAndExecution) {
  EXPECT_EQ(default_match_tolerance(DType::kFloat32, std::nullopt), 1e-3);
  EXPECT_EQ(default_match_tolerance(DType::kFloat32, DType::kFloat16), 2e-2);
  EXPECT_EQ(default_match_tolerance(DType::kFloat16, DType::kFloat32), 2e-2);
  EXPECT_EQ(default_match_tolerance(DType::kFloat32, DType::kInt8), 5e-2);
  EXPECT_EQ(default_match_tolerance(DType::kInt32, DType::kFloat16), 0.0);
}

TEST(OutputsMatch, LargeOutputsAreComparedToTheirEnd) {
  std::vector<float> accuracy_run(1300, 1.0F);
  std::vector<float> timed_run = accuracy_run;
  timed_run.back() = 2.0F;
  EXPECT_EQ(match(accuracy_run, timed_run).verdict, MatchVerdict::kDrifted);
}

TEST(OutputsMatch, WrongSizesAndIndicesAreRefused) {
  Result<OutputsMatch> matcher = OutputsMatch::create({{"y", DType::kFloat32, {2}}}, {});
  const std::vector<float> one{1};
  EXPECT_THAT(matcher->add(9, 0, bytes(one), bytes(one)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sample 9")));
  EXPECT_THAT(matcher->add(9, 1, bytes(one), bytes(one)),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("output 1 of 1")));
}

TEST(OutputsMatch, EmptyOutputsAreEqual) {
  Result<OutputsMatch> matcher = OutputsMatch::create({{"boxes", DType::kFloat32, {0, 4}}}, {});
  ASSERT_THAT(matcher->add(0, 0, {}, {}), IsOk());
  EXPECT_EQ(matcher->finish().verdict, MatchVerdict::kIdentical);
}

}  // namespace
}  // namespace assay::check
