#pragma once

// Intervals of a row's rate and percentiles that contain both the spread between rounds and the
// autocorrelation within them: rounds are drawn with replacement, and within each drawn round
// blocks of consecutive calls, long enough that what they depend on stays inside one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loadgen/percentile.h"
#include "loadgen/statistics.h"

namespace assay::loadgen {

struct BootstrapRound {
  std::vector<std::int64_t> latencies_ns;  // in the order in which they ended
  double rate = 0;                         // the round's own, any unit
};

struct BootstrapSettings {
  std::uint32_t resamples = 1000;
  double confidence = 0.95;
  std::uint64_t seed = 1;
};

struct BootstrapResult {
  Interval rate;
  Interval mean_ns;
  std::vector<Interval> percentiles_ns;    // as asked, to 1/2048
  std::vector<std::size_t> block_lengths;  // per round
};

// Calls in a block: at least twice the integrated autocorrelation time and the cube root of n, and
// no more than 256 blocks a round.
std::size_t block_length(std::size_t n, double integrated_time);

// None when a round is empty or there is none. The same input and seed give the same result.
std::optional<BootstrapResult> block_bootstrap(std::span<const BootstrapRound> rounds,
                                               std::span<const Fraction> percentiles,
                                               const BootstrapSettings& settings = {});

}  // namespace assay::loadgen
