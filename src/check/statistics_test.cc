#include "check/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace assay::check {
namespace {

TEST(Wilson, OfNoneAndAllTouchesZeroAndOne) {
  EXPECT_EQ(wilson(0, 10).low, 0.0);
  EXPECT_EQ(wilson(10, 10).high, 1.0);
  // By hand: z^2 = 3.8415; high of 0 of 10 is z^2 / (10 + z^2).
  EXPECT_NEAR(wilson(0, 10).high, 3.841458820694124 / 13.841458820694124, 1e-15);
}

TEST(PairedRatioScore, WithoutDiscordantPairsFollowsFromTheRightOnesAlone) {
  // Then z = sqrt(right * (1 - ratio) / ratio).
  EXPECT_NEAR(*paired_ratio_score({18, 0, 0, 2}, 0.99), std::sqrt(18 * 0.01 / 0.99), 1e-9);
}

TEST(PairedRatioScore, IsZeroAtTheObservedRatioAndUndefinedWithoutAnyRightSample) {
  EXPECT_NEAR(*paired_ratio_score({40, 10, 0, 0}, 1.25), 0.0, 1e-12);
  EXPECT_EQ(*paired_ratio_score({5, 0, 0, 5}, 1.0), 0.0);
  EXPECT_FALSE(paired_ratio_score({0, 0, 0, 9}, 0.99).has_value());
}

TEST(PairedRatioInterval, HoldsTheEstimateAndInvertsTheScore) {
  const PairedCounts counts{1400, 34, 21, 455};
  const Interval interval = paired_ratio_interval(counts);
  EXPECT_LT(interval.low, 1434.0 / 1421.0);
  EXPECT_GT(interval.high, 1434.0 / 1421.0);
  EXPECT_NEAR(*paired_ratio_score(counts, interval.low), kZ95OneSided, 1e-6);
  EXPECT_NEAR(*paired_ratio_score(counts, interval.high), -kZ95OneSided, 1e-6);
}

TEST(PairedRatioInterval, OfSwappedCountsIsTheReciprocal) {
  const Interval one = paired_ratio_interval({50, 4, 9, 7});
  const Interval other = paired_ratio_interval({50, 9, 4, 7});
  EXPECT_NEAR(one.low, 1.0 / other.high, 1e-6);
}

std::optional<double> share_of_first(std::span<const std::uint32_t> weights) {
  const std::uint32_t all = std::accumulate(weights.begin(), weights.end(), 0U);
  return static_cast<double>(weights[0]) / all;
}

TEST(Bootstrap, DrawsAsManyAsThereAreAndRepeatsWithTheSeed) {
  const std::vector<double> values = bootstrap(40, 500, 3, share_of_first);
  EXPECT_EQ(values.size(), 500U);
  EXPECT_EQ(values, bootstrap(40, 500, 3, share_of_first));
  EXPECT_NE(values, bootstrap(40, 500, 4, share_of_first));
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / 500;
  EXPECT_NEAR(mean, 1.0 / 40, 0.005);
}

TEST(Bootstrap, LeavesOutWhatIsNotDefined) {
  const auto never = [](std::span<const std::uint32_t>) { return std::optional<double>(); };
  EXPECT_TRUE(bootstrap(5, 10, 1, never).empty());
}

TEST(Bootstrap, ResamplesAreBoundedByTheirCost) {
  EXPECT_EQ(affordable_resamples(10'000, 2000), 2000U);
  EXPECT_EQ(affordable_resamples(400'000, 2000), 500U);
  EXPECT_EQ(affordable_resamples(50'000'000, 2000), 200U);
  EXPECT_EQ(affordable_resamples(50'000'000, 100), 100U);
}

TEST(SortedQuantile, IsNearestRank) {
  const std::vector<double> sorted{1, 2, 3, 4};
  EXPECT_EQ(sorted_quantile(sorted, 0.25), 1.0);
  EXPECT_EQ(sorted_quantile(sorted, 0.26), 2.0);
  EXPECT_EQ(sorted_quantile(sorted, 1.0), 4.0);
}

}  // namespace
}  // namespace assay::check
