#include "check/pipeline_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/testing.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

Fit fit(const std::vector<double>& predicted, const std::vector<double>& got,
        std::size_t width = 1) {
  const std::size_t samples = got.size() / width;
  const Result<Fit> made =
      fit_of({samples, width, predicted}, {samples, width, got}, /*class_scores=*/true);
  EXPECT_THAT(made.status(), IsOk());
  return *made;
}

TEST(Fit, DifferenceIsInUnitsOfTheSpreadOverTheSamples) {
  // The mean of 1, 3 is 2: spread 1 + 1; differences 1 and 1.
  EXPECT_THAT(fit({1, 3}, {2, 4}).difference, Optional(1.0));
  EXPECT_THAT(fit({1, 3}, {1, 3}).difference, Optional(0.0));
  EXPECT_THAT(fit({1, 3}, {1, 4}).sample_differences, ElementsAre(0, 0.5));
}

TEST(Fit, OneAnswerForEveryInputIsOne) {
  // Elements have the means (2, 20).
  EXPECT_THAT(fit({1, 10, 3, 30}, {2, 20, 2, 20}, 2).difference, Optional(DoubleNear(1, 1e-12)));
}

TEST(Fit, WhatCannotBeMeasuredIsEmpty) {
  EXPECT_EQ(fit({5, 5}, {1, 2}).difference, std::nullopt) << "all predictions are alike";
  EXPECT_EQ(fit({5}, {1}).difference, std::nullopt) << "one sample";
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(fit({1, 2}, {nan, 2}).difference, std::nullopt);
}

TEST(Fit, SameBestClass) {
  EXPECT_THAT(fit({1, 2, 5, 4}, {0, 9, 0, 9}, 2).top1_agreement, Optional(0.5));
}

TEST(Fit, AnswersOfOtherFormsAreRefused) {
  EXPECT_THAT(fit_of({2, 1, {1, 2}}, {1, 2, {1, 2}}, false).status(),
              StatusIs(StatusCode::kInternal, HasSubstr("2 samples of 1 values, and of 1 of 2")));
}

TEST(Fit, OfSeveralOutputsTheLargestDecides) {
  const Fit small{0.1, {0.01, 0}, 1.0};
  const Fit large{0.5, {0, 0.25}, std::nullopt};
  const Fit whole = joined({small, large});
  EXPECT_THAT(whole.difference, Optional(0.5));
  EXPECT_THAT(whole.sample_differences, ElementsAre(0.01, 0.25));
  EXPECT_THAT(whole.top1_agreement, Optional(1.0));
}

Fit even(double difference, double top1 = 1) {
  return {difference, std::vector<double>(10, difference * difference / 10), top1};
}

TEST(Restoration, TakesAnExplanationOfMostOfTheDifference) {
  EXPECT_TRUE(restoration(even(0.6), even(0.35)).restores);
  EXPECT_FALSE(restoration(even(0.6), even(0.37)).restores);
}

TEST(Restoration, IsNoneWhereNothingDeviates) {
  EXPECT_FALSE(restoration(even(kDeviation), even(0)).restores);
  EXPECT_TRUE(restoration(even(kDeviation * 1.01), even(0)).restores);
}

TEST(Restoration, IsNoneFarFromThePrediction) {
  EXPECT_FALSE(restoration(even(20), even(0.6)).restores);
}

TEST(Restoration, HoldsForNearlyAllSamples) {
  Fit predicted = even(0.1);
  predicted.sample_differences[0] = 1;
  EXPECT_TRUE(restoration(even(0.6), predicted).restores);
  EXPECT_DOUBLE_EQ(restoration(even(0.6), predicted).nearer, 0.9);
  predicted.sample_differences[1] = 1;
  EXPECT_FALSE(restoration(even(0.6), predicted).restores);
}

TEST(Restoration, SamplesThatTheHypothesisLeavesAsTheyAreDoNotCountAgainstIt) {
  Fit untouched = even(0.6);
  Fit predicted = even(0.1);
  for (std::size_t s = 0; s < 5; ++s) {
    untouched.sample_differences[s] = predicted.sample_differences[s] = 0;
  }
  EXPECT_DOUBLE_EQ(restoration(untouched, predicted).nearer, 1);
  EXPECT_TRUE(restoration(untouched, predicted).restores);
}

TEST(Restoration, NeverLosesClasses) {
  EXPECT_FALSE(restoration(even(0.6, 0.8), even(0.1, 0.7)).restores);
}

TEST(Restoration, OfWhatCannotBeMeasuredIsNone) {
  EXPECT_FALSE(restoration(even(0.6), Fit{}).restores);
  EXPECT_FALSE(restoration(Fit{}, even(0)).restores);
}

}  // namespace
}  // namespace assay::check
