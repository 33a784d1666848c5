#pragma once

// The few statistics that accuracy needs. Pure functions of their arguments.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace assay::check {

inline constexpr double kZ95TwoSided = 1.959963984540054;
inline constexpr double kZ95OneSided = 1.6448536269514722;

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// Wilson's score interval of `successes` of `n` (n > 0) at normal quantile z.
// Source: E. B. Wilson, JASA 22 (1927) 209.
Interval wilson(double successes, double n, double z = kZ95TwoSided);

// Of `n` paired samples: both right, only the tested one, only the reference, neither.
struct PairedCounts {
  std::uint64_t both = 0;
  std::uint64_t only_tested = 0;
  std::uint64_t only_reference = 0;
  std::uint64_t neither = 0;

  std::uint64_t n() const { return both + only_tested + only_reference + neither; }
};

// Score statistic of H0: p_tested = ratio * p_reference, for paired proportions; positive when the
// tested one is better than that. nullopt when nothing can be said (neither is ever right).
// Source: Nam and Blackwelder, Statistics in Medicine 21 (2002) 689.
std::optional<double> paired_ratio_score(const PairedCounts& counts, double ratio);

// The ratios that the score test does not reject at z, one-sided each way.
Interval paired_ratio_interval(const PairedCounts& counts, double z = kZ95OneSided);

// Draws `resamples` bootstrap samples of n items and calls `statistic` with how often each item was
// drawn; the statistics come back sorted, undefined ones left out. Same seed, same result, on every
// machine.
using WeightedStatistic = std::function<std::optional<double>(std::span<const std::uint32_t>)>;
std::vector<double> bootstrap(std::size_t n, std::uint32_t resamples, std::uint64_t seed,
                              const WeightedStatistic& statistic);

// How many resamples of n items are worth their time: `wanted`, but no more than 2e8 draws in all,
// and never fewer than 200.
std::uint32_t affordable_resamples(std::size_t n, std::uint32_t wanted);

// Nearest-rank quantile of sorted values (not empty), 0 < p <= 1.
double sorted_quantile(std::span<const double> sorted, double p);

}  // namespace assay::check
