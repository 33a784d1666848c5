#include "check/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <random>

namespace assay::check {
namespace {

// Maximum-likelihood estimates of the discordant shares under p_tested = ratio * p_reference.
struct Discordant {
  double only_tested;
  double only_reference;
};
Discordant constrained_estimate(const PairedCounts& counts, double ratio) {
  const auto n = static_cast<double>(counts.n());
  const double both = static_cast<double>(counts.both) / n;
  const double b = static_cast<double>(counts.only_tested) / n;
  const double c = static_cast<double>(counts.only_reference) / n;
  const double tested = both + b;
  const double reference = both + c;
  const double square = tested - ratio * ratio * reference;
  const double root = std::sqrt(square * square + 4.0 * ratio * ratio * b * c);
  const double only_tested =
      (-tested + ratio * ratio * (reference + 2.0 * b) + root) / (2.0 * ratio * (ratio + 1.0));
  const double only_reference = ratio * only_tested - (ratio - 1.0) * (both + b + c);
  return {std::max(only_tested, 0.0), std::max(only_reference, 0.0)};
}

// An index below n from the upper half of a 64-bit draw. The bias is below n / 2^32.
std::size_t index_below(std::size_t n, std::mt19937_64& generator) {
  return static_cast<std::size_t>(((generator() >> 32) * std::uint64_t{n}) >> 32);
}

// The ratio at which the decreasing score statistic is `z`, between `low` and `high`.
double solve_score(const PairedCounts& counts, double z, double low, double high) {
  for (int step = 0; step < 200 && high - low > 1e-12 * high; ++step) {
    const double middle = 0.5 * (low + high);
    const double score = paired_ratio_score(counts, middle).value_or(0.0);
    (score > z ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

Interval wilson(double successes, double n, double z) {
  assert(n > 0);
  const double p = successes / n;
  const double z2 = z * z;
  const double centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
  const double half = z / (1.0 + z2 / n) * std::sqrt(p * (1.0 - p) / n + z2 / (4.0 * n * n));
  // At 0 and n successes the bound is exactly 0 and 1; rounding must not say otherwise.
  return {successes <= 0 ? 0.0 : std::max(0.0, centre - half),
          successes >= n ? 1.0 : std::min(1.0, centre + half)};
}

std::optional<double> paired_ratio_score(const PairedCounts& counts, double ratio) {
  if (counts.both + counts.only_tested + counts.only_reference == 0) return std::nullopt;
  const auto n = static_cast<double>(counts.n());
  const double tested = static_cast<double>(counts.both + counts.only_tested);
  const double reference = static_cast<double>(counts.both + counts.only_reference);
  const Discordant discordant = constrained_estimate(counts, ratio);
  const double variance = n * ratio * (discordant.only_tested + discordant.only_reference);
  const double difference = tested - ratio * reference;
  if (variance > 0.0) return difference / std::sqrt(variance);
  // No discordant pair at a ratio of 1: exactly what H0 says.
  if (difference == 0.0) return 0.0;
  return std::copysign(std::numeric_limits<double>::infinity(), difference);
}

Interval paired_ratio_interval(const PairedCounts& counts, double z) {
  constexpr double smallest = 1e-6;
  constexpr double largest = 1e6;
  return {solve_score(counts, z, smallest, largest), solve_score(counts, -z, smallest, largest)};
}

std::vector<double> bootstrap(std::size_t n, std::uint32_t resamples, std::uint64_t seed,
                              const WeightedStatistic& statistic) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint32_t> weights(n);
  std::vector<double> values;
  values.reserve(resamples);
  for (std::uint32_t resample = 0; resample < resamples; ++resample) {
    std::fill(weights.begin(), weights.end(), 0U);
    for (std::size_t draw = 0; draw < n; ++draw) ++weights[index_below(n, generator)];
    if (const std::optional<double> value = statistic(weights)) values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  return values;
}

std::uint32_t affordable_resamples(std::size_t n, std::uint32_t wanted) {
  constexpr std::uint64_t most_draws = 200'000'000;
  constexpr std::uint64_t fewest = 200;
  const std::uint64_t affordable = std::max(fewest, most_draws / std::max<std::uint64_t>(n, 1));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, affordable));
}

double sorted_quantile(std::span<const double> sorted, double p) {
  assert(!sorted.empty());
  const double rank = std::ceil(p * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace assay::check
