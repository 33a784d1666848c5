#include "loadgen/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "loadgen/bootstrap.h"
#include "loadgen/random.h"

namespace assay::loadgen {
namespace {

using Doubles = std::vector<double>;
using Series = std::vector<std::int64_t>;

// About normal: the sum of twelve uniform numbers.
double normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

// Latencies around 100 us; each keeps `memory` of its predecessor's deviation.
Series autoregressive(std::size_t n, double memory, std::uint64_t seed) {
  Random random(seed);
  Series series;
  double deviation = 0;
  for (std::size_t i = 0; i < n; ++i) {
    deviation = memory * deviation + normal(random) * 1000;
    series.push_back(100'000 + static_cast<std::int64_t>(deviation));
  }
  return series;
}

TEST(Statistics, MeanAndMedianOfSmallSeries) {
  EXPECT_DOUBLE_EQ(mean(Doubles{1, 9, 9, 9}), 7);
  EXPECT_DOUBLE_EQ(mean(Series{2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median(Doubles{9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median(Doubles{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median(Doubles{7}), 7);
}

TEST(Statistics, CoefficientOfVariationIsOfTheSample) {
  // Mean 100, squares 4 + 0 + 4, over 2: deviation 2.
  EXPECT_DOUBLE_EQ(coefficient_of_variation(Doubles{98, 100, 102}).value(), 0.02);
  EXPECT_EQ(coefficient_of_variation(Doubles{5}), std::nullopt);
  EXPECT_EQ(coefficient_of_variation(Doubles{0, 0}), std::nullopt);
}

TEST(Statistics, ThirdsCompareTheBeginningWithTheEnd) {
  const Thirds result = thirds(Series{10, 10, 99, 99, 99, 12, 12}).value();  // thirds of two
  EXPECT_DOUBLE_EQ(result.first, 10);
  EXPECT_DOUBLE_EQ(result.last, 12);
  EXPECT_NEAR(result.drift().value(), 0.2, 1e-12);
  EXPECT_EQ(thirds(Series{1, 2}), std::nullopt);
  EXPECT_EQ((Thirds{0, 5}.drift()), std::nullopt);
}

TEST(Statistics, ElapsedFlagsAClockThatWentBack) {
  EXPECT_EQ(elapsed(10, 25).ns, 15);
  EXPECT_FALSE(elapsed(10, 25).negative);
  EXPECT_EQ(elapsed(25, 10).ns, 0);
  EXPECT_TRUE(elapsed(25, 10).negative);
}

TEST(Autocorrelation, OfIndependentValuesIsNotFound) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    found += autocorrelation(autoregressive(2000, 0, seed)).found ? 1 : 0;
  }
  EXPECT_LE(found, 4) << "seeds 1 to 50, one in a hundred expected";
}

TEST(Autocorrelation, EffectiveNumberOfAnAutoregressiveSeriesIsTheKnownOne) {
  // AR(1) with memory 0.8: integrated time (1 + 0.8) / (1 - 0.8) = 9.
  const Autocorrelation result = autocorrelation(autoregressive(50'000, 0.8, 3));
  EXPECT_TRUE(result.found);
  EXPECT_NEAR(result.lag1, 0.8, 0.02);
  EXPECT_NEAR(result.integrated_time, 9, 1);
  EXPECT_NEAR(static_cast<double>(result.effective_n), 50'000 / 9.0, 700);
}

TEST(Autocorrelation, ADriftLeavesFewIndependentValues) {
  Series series;
  for (std::int64_t i = 0; i < 3000; ++i) series.push_back(100'000 + 10 * i);
  const Autocorrelation result = autocorrelation(series);
  EXPECT_TRUE(result.found);
  EXPECT_LT(result.effective_n, 10U);
}

TEST(Autocorrelation, ConstantAndTinySeriesAreIndependent) {
  EXPECT_EQ(autocorrelation(Series(100, 7)).effective_n, 100U);
  EXPECT_FALSE(autocorrelation(Series(100, 7)).found);
  EXPECT_EQ(autocorrelation(Series{1, 2, 3}).effective_n, 3U);
  EXPECT_EQ(autocorrelation(Series{}).effective_n, 0U);
}

LittleInput four_clients() {
  return {.rate_per_s = 4000,
          .mean_latency_ns = 1e6,
          .clients = 4,
          .completions = 4000,
          .looks = 400,
          .mean_in_flight = 4,
          .deviation_in_flight = 0.1,
          .loop_overhead_ns = 200};
}

TEST(Little, HoldsWhenRateTimesLatencyIsWhatIsInFlight) {
  const LittleCheck check = check_little(four_clients());
  EXPECT_DOUBLE_EQ(check.rate_times_latency, 4);
  EXPECT_TRUE(check.holds());
  EXPECT_LT(check.tolerance, 0.2);
}

TEST(Little, FailsWhenTheBoundarySawFewerThanTheStampsClaim) {
  LittleInput input = four_clients();
  input.mean_in_flight = 2;
  EXPECT_FALSE(check_little(input).boundary_agrees);
}

TEST(Little, FailsWhenLatenciesAreTooShortForTheRate) {
  LittleInput input = four_clients();
  input.mean_latency_ns = 0.5e6;  // calls that return early, work that goes on behind
  input.mean_in_flight = 2;
  const LittleCheck check = check_little(input);
  EXPECT_TRUE(check.boundary_agrees);
  EXPECT_FALSE(check.clients_agree);
}

TEST(Little, FailsWhenMoreIsInFlightThanClients) {
  LittleInput input = four_clients();
  input.rate_per_s = 8000;
  EXPECT_FALSE(check_little(input).clients_agree);
}

TEST(Little, AllowsForTheLoopWhereCallsTakeNanoseconds) {
  // 100 ns calls, 50 ns of loop around each: 2/3 in flight per client.
  LittleInput input{.rate_per_s = 1e9 / 150,
                    .mean_latency_ns = 100,
                    .clients = 1,
                    .completions = 100'000,
                    .looks = 100,
                    .mean_in_flight = 0.55,
                    .deviation_in_flight = 0.5,
                    .loop_overhead_ns = 60};
  EXPECT_TRUE(check_little(input).holds());
  input.loop_overhead_ns = 1;
  EXPECT_FALSE(check_little(input).clients_agree);
}

TEST(Little, WithoutLooksOnlyTheClientsAreHeldAgainst) {
  LittleInput input = four_clients();
  input.looks = 0;
  input.mean_in_flight = 0;
  EXPECT_TRUE(check_little(input).holds());
}

TEST(SignTest, IntervalOfTenValuesIsTheSecondAndNinth) {
  // P[Binomial(10, 1/2) <= 1] = 11/1024 = 0.0107 <= 0.025 < P[<= 2] = 0.0547.
  const Doubles values = {5, 3, 1, 9, 7, 10, 2, 8, 4, 6};
  EXPECT_EQ(sign_test_interval(values), (Interval{2, 9}));
}

TEST(SignTest, NeedsSixValues) {
  EXPECT_EQ(sign_test_interval(Doubles{1, 2, 3, 4, 5}), std::nullopt);  // 2/32 above 5 %
  EXPECT_EQ(sign_test_interval(Doubles{1, 2, 3, 4, 5, 6}), (Interval{1, 6}));
  EXPECT_EQ(sign_test_interval(Doubles{}), std::nullopt);
}

TEST(PairedRatio, IsTheMedianOfTheRatiosNotTheRatioOfTheMedians) {
  const PairedRatio result = paired_ratio(Doubles{2, 40, 6}, Doubles{1, 10, 3});
  EXPECT_DOUBLE_EQ(result.ratio, 2);
  EXPECT_EQ(result.pairs, 3U);
  EXPECT_EQ(result.interval, std::nullopt);
}

TEST(PairedRatio, CancelsADriftThatBothShare) {
  Doubles a;
  Doubles b;
  for (int i = 1; i <= 40; ++i) {
    a.push_back(3.0 * i);
    b.push_back(2.0 * i);
  }
  const PairedRatio result = paired_ratio(a, b);
  EXPECT_NEAR(result.ratio, 1.5, 1e-12);
  EXPECT_NEAR(result.interval->low, 1.5, 1e-12);
  EXPECT_NEAR(result.interval->high, 1.5, 1e-12);
}

TEST(Bootstrap, BlockLengthFollowsDependenceAndBoundsTheNumberOfBlocks) {
  EXPECT_EQ(block_length(1000, 1), 10U);         // cube root
  EXPECT_EQ(block_length(1000, 40), 80U);        // twice the integrated time
  EXPECT_EQ(block_length(1'000'000, 1), 3907U);  // 256 blocks
  EXPECT_EQ(block_length(5, 100), 5U);
  EXPECT_EQ(block_length(0, 1), 1U);
}

constexpr Fraction kMedianOnly[] = {{500'000}};

TEST(Bootstrap, OfConstantLatenciesHasNoWidth) {
  const BootstrapRound rounds[] = {{Series(500, 1000), 50}, {Series(500, 1000), 50}};
  const BootstrapResult result = block_bootstrap(rounds, kMedianOnly).value();
  EXPECT_EQ(result.rate, (Interval{50, 50}));
  EXPECT_EQ(result.mean_ns, (Interval{1000, 1000}));
  EXPECT_EQ(result.percentiles_ns[0], (Interval{1000, 1000}));
}

TEST(Bootstrap, ContainsTheSpreadBetweenRounds) {
  const BootstrapRound rounds[] = {
      {Series(500, 1000), 100}, {Series(500, 1250), 80}, {Series(500, 1000), 100}};
  const BootstrapResult result = block_bootstrap(rounds, kMedianOnly).value();
  EXPECT_LE(result.rate.low, 87);
  EXPECT_DOUBLE_EQ(result.rate.high, 100);
  EXPECT_GE(result.mean_ns.high, 1160);
}

TEST(Bootstrap, IsWiderWhereValuesDependOnEachOther) {
  const BootstrapRound independent[] = {{autoregressive(4000, 0, 1), 1}};
  const BootstrapRound dependent[] = {{autoregressive(4000, 0.9, 1), 1}};
  const auto width = [](const BootstrapRound(&rounds)[1]) {
    const Interval mean = block_bootstrap(rounds, kMedianOnly)->mean_ns;
    return mean.high - mean.low;
  };
  // The mean of AR(1) with memory 0.9 varies 1 / (1 - 0.9) = 10 times as much.
  EXPECT_GT(width(dependent), 6 * width(independent));
  EXPECT_LT(width(dependent), 14 * width(independent));
}

TEST(Bootstrap, IntervalOfTheMeanCoversTheTruth) {
  int covered = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const BootstrapRound rounds[] = {{autoregressive(2000, 0.5, seed), 1}};
    const BootstrapSettings settings{.resamples = 200, .seed = seed};
    covered += block_bootstrap(rounds, kMedianOnly, settings)->mean_ns.contains(100'000) ? 1 : 0;
  }
  EXPECT_GE(covered, 86) << "seeds 1 to 100, 95 expected";
}

TEST(Bootstrap, DependsOnTheSeedAlone) {
  const BootstrapRound rounds[] = {{autoregressive(500, 0.3, 9), 7}};
  EXPECT_EQ(block_bootstrap(rounds, kMedianOnly, {.seed = 4})->rate,
            block_bootstrap(rounds, kMedianOnly, {.seed = 4})->rate);
}

TEST(Bootstrap, OfNothingIsNothing) {
  EXPECT_EQ(block_bootstrap({}, kMedianOnly).has_value(), false);
  const BootstrapRound rounds[] = {{Series{}, 0}};
  EXPECT_EQ(block_bootstrap(rounds, kMedianOnly).has_value(), false);
}

}  // namespace
}  // namespace assay::loadgen
