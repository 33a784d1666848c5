#include "loadgen/percentile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "loadgen/random.h"

namespace assay::loadgen {
namespace {

constexpr Fraction kP50{500'000};
constexpr Fraction kP90{900'000};
constexpr Fraction kP95{950'000};
constexpr Fraction kP99{990'000};
constexpr Fraction kP999{999'000};

std::vector<std::int64_t> one_to(std::int64_t n) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = 1; value <= n; ++value) values.push_back(value);
  return values;
}

TEST(Percentile, NearestRankOfOneSampleIsThatSample) {
  const std::vector<std::int64_t> one = {42};
  for (const NamedPercentile& p : kPercentiles) EXPECT_EQ(percentile(one, p.fraction), 42);
}

TEST(Percentile, IsTheSmallestValueWithEnoughValuesAtOrBelowIt) {
  const std::vector<std::int64_t> values = {15, 20, 35, 40, 50};
  EXPECT_EQ(percentile(values, {50'000}), 15);   // 0.25 values: the first
  EXPECT_EQ(percentile(values, {300'000}), 20);  // 1.5 values: the second
  EXPECT_EQ(percentile(values, {400'000}), 20);  // 2 values exactly
  EXPECT_EQ(percentile(values, kP50), 35);
  EXPECT_EQ(percentile(values, {1'000'000}), 50);
}

TEST(Percentile, HasOneConventionAtCountsWhereConventionsPart) {
  // ceil(p*n): 1980.99 -> 1981, 9949.5 -> 9950, 99 exactly. Counting from floor(p*(n-1)) would give
  // 9949 for the second, and the element number floor(p*n) the maximum for the third.
  EXPECT_EQ(percentile(one_to(2001), kP99), 1981);
  EXPECT_EQ(percentile(one_to(10050), kP99), 9950);
  EXPECT_EQ(percentile(one_to(100), kP99), 99);
}

TEST(Percentile, RankIsExactWhereFloatingPointIsNot) {
  EXPECT_EQ(nearest_rank({550'000}, 100), 55U);  // 0.55 * 100 = 55.00000000000001
  EXPECT_EQ(nearest_rank({70'000}, 100), 7U);    // 0.07 * 100 = 7.000000000000001
  EXPECT_EQ(nearest_rank(kP999, 1'000'000'000'000), 999'000'000'000U);
}

TEST(Percentile, FloorsAreThePublishedTable) {
  EXPECT_EQ(sample_floor(kP50), 11U);
  EXPECT_EQ(sample_floor(kP90), 64U);
  EXPECT_EQ(sample_floor(kP95), 130U);
  EXPECT_EQ(sample_floor({970'000}), 219U);
  EXPECT_EQ(sample_floor(kP99), 662U);
  EXPECT_EQ(sample_floor(kP999), 6636U);
  EXPECT_EQ(sample_floor({999'900}), 66381U);
}

TEST(Percentile, BudgetRisesAtThePublishedCounts) {
  struct Case {
    Fraction p;
    std::uint64_t budget;
    std::uint64_t n;  // the smallest with this budget
  };
  for (const Case& c :
       {Case{kP50, 0, 7}, Case{kP50, 2, 14}, Case{kP50, 5, 22}, Case{kP50, 10, 35},
        Case{kP90, 0, 44}, Case{kP90, 2, 81}, Case{kP90, 10, 197}, Case{kP95, 0, 90},
        Case{kP95, 5, 259}, Case{kP99, 0, 459}, Case{kP99, 2, 838}, Case{kP99, 5, 1307},
        Case{kP99, 10, 2010}, Case{kP999, 0, 4603}, Case{kP999, 10, 20140}}) {
    EXPECT_EQ(bound_budget(c.p, c.n), c.budget) << c.p.ppm << " n " << c.n;
    const auto below = bound_budget(c.p, c.n - 1);
    EXPECT_LT(below ? static_cast<std::int64_t>(*below) : -1, static_cast<std::int64_t>(c.budget))
        << c.p.ppm << " n " << c.n - 1;
  }
}

TEST(Percentile, UpperBoundOf662SamplesIsTheOneBeforeTheLargest) {
  EXPECT_EQ(upper_bound_rank(kP99, 662), 661U);
  EXPECT_EQ(upper_bound_rank(kP99, 459), 459U);
  EXPECT_EQ(upper_bound_rank(kP99, 458), std::nullopt);
  EXPECT_EQ(upper_bound_rank(kP99, 0), std::nullopt);
}

TEST(BinomialCdf, EqualsHandComputedValues) {
  EXPECT_DOUBLE_EQ(binomial_cdf(4, 0.5, 1), 5.0 / 16);  // (1 + 4) / 16
  EXPECT_DOUBLE_EQ(binomial_cdf(3, 0.1, 0), 0.9 * 0.9 * 0.9);
  EXPECT_DOUBLE_EQ(binomial_cdf(3, 0.1, 3), 1.0);
  EXPECT_DOUBLE_EQ(binomial_cdf(10, 0.0, 0), 1.0);
  EXPECT_DOUBLE_EQ(binomial_cdf(10, 1.0, 9), 0.0);
}

// Every term from its own logarithm, in long double, with nothing left out.
long double brute_force_cdf(std::uint64_t n, double q, std::uint64_t t) {
  long double sum = 0;
  const auto trials = static_cast<long double>(n);
  for (std::uint64_t k = 0; k <= t && k <= n; ++k) {
    const auto hits = static_cast<long double>(k);
    sum += std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) -
                    std::lgamma(trials - hits + 1) + hits * std::log(static_cast<long double>(q)) +
                    (trials - hits) * std::log1p(-static_cast<long double>(q)));
  }
  return sum;
}

TEST(BinomialCdf, AgreesWithBruteForceUpTo200000Trials) {
  const std::uint64_t seed = 20261130;
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t n = 1 + random.below(200'000);
    const double q = i % 2 == 0 ? 0.001 + 0.05 * random.unit() : random.unit();
    const double spread = std::sqrt(static_cast<double>(n) * q * (1 - q));
    const double at = static_cast<double>(n) * q + (random.unit() * 8 - 4) * spread;
    const auto t = static_cast<std::uint64_t>(std::max(at, 0.0));
    const auto expected = static_cast<double>(std::min(brute_force_cdf(n, q, t), 1.0L));
    EXPECT_NEAR(binomial_cdf(n, q, t), expected, 1e-6 * expected + 1e-12)
        << "n " << n << " q " << q << " t " << t;
  }
}

TEST(Percentile, BudgetIsTheBruteForceOneAlsoBeyondAThousand) {
  // 200,000 samples: the budget of p98 is near 3,850, far beyond any small cap on the search.
  const Fraction p98{980'000};
  const std::uint64_t n = 200'000;
  const std::optional<std::uint64_t> budget = bound_budget(p98, n);
  ASSERT_TRUE(budget.has_value());
  EXPECT_GT(*budget, 3'000U);
  EXPECT_LT(brute_force_cdf(n, 0.02, *budget), 0.01L);
  EXPECT_GE(brute_force_cdf(n, 0.02, *budget + 1), 0.01L);
}

TEST(Percentile, UpperBoundCoversTheTrueQuantile) {
  // 99 % of samples of 700 uniform values have their bound for p95 above 0.95; of 2,000 about
  // 1,980.
  const std::uint64_t seed = 7;
  Random random(seed);
  const std::uint64_t rank = upper_bound_rank(kP95, 700).value();
  int covered = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> values(700);
    for (double& value : values) value = random.unit();
    std::ranges::sort(values);
    covered += values[rank - 1] >= 0.95 ? 1 : 0;
  }
  EXPECT_GE(covered, 1965) << "seed " << seed;
}

TEST(Distribution, ReadsExactValuesAndCountsAlike) {
  Distribution distribution;
  distribution.add(30);
  distribution.add(10, 3);
  distribution.add(20, 0);
  distribution.finish();
  EXPECT_EQ(distribution.count(), 4U);
  EXPECT_EQ(distribution.at_rank(1), 10);
  EXPECT_EQ(distribution.at_rank(3), 10);
  EXPECT_EQ(distribution.at_rank(4), 30);
  EXPECT_EQ(distribution.percentile(kP50), 10);
}

TEST(Distribution, OfNothingCountsNothing) {
  Distribution distribution;
  distribution.finish();
  EXPECT_EQ(distribution.count(), 0U);
}

}  // namespace
}  // namespace assay::loadgen
