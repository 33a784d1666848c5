#include "loadgen/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loadgen/histogram.h"
#include "loadgen/random.h"

namespace assay::loadgen {
namespace {

using Buckets = LogLinear<10>;  // values to 1/2048
constexpr std::size_t kMaxBlocks = 256;

// What a block of consecutive calls contributes to a resample, small enough to draw thousands.
struct Block {
  std::uint64_t count = 0;
  double sum = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> buckets;  // compact bucket, count
};

struct Round {
  double rate = 0;
  double mean = 0;
  std::vector<Block> blocks;
};

// Numbers the buckets that occur, so that a resample's histogram is as small as the data's spread.
class BucketNumbers {
 public:
  explicit BucketNumbers(std::span<const BootstrapRound> rounds) : number_(Buckets::kBuckets, 0) {
    for (const BootstrapRound& round : rounds) {
      for (const std::int64_t value : round.latencies_ns) number_[Buckets::bucket(value)] = 1;
    }
    for (std::size_t bucket = 0; bucket < number_.size(); ++bucket) {
      if (number_[bucket] == 0) continue;
      number_[bucket] = static_cast<std::uint32_t>(values_.size());
      values_.push_back(Buckets::value_ns(bucket));
    }
  }

  std::uint32_t number(std::int64_t value) const { return number_[Buckets::bucket(value)]; }
  std::int64_t value(std::size_t number) const { return values_[number]; }
  std::size_t size() const { return values_.size(); }

 private:
  std::vector<std::uint32_t> number_;
  std::vector<std::int64_t> values_;
};

Block make_block(std::span<const std::int64_t> values, const BucketNumbers& numbers) {
  Block block{.count = values.size(), .sum = 0, .buckets = {}};
  std::vector<std::uint32_t> found;
  found.reserve(values.size());
  for (const std::int64_t value : values) {
    block.sum += static_cast<double>(value);
    found.push_back(numbers.number(value));
  }
  std::ranges::sort(found);
  for (const std::uint32_t number : found) {
    if (block.buckets.empty() || block.buckets.back().first != number) {
      block.buckets.emplace_back(number, 0U);
    }
    ++block.buckets.back().second;
  }
  return block;
}

Round make_round(const BootstrapRound& input, std::size_t length, const BucketNumbers& numbers) {
  Round round{.rate = input.rate, .mean = mean(input.latencies_ns), .blocks = {}};
  const std::span<const std::int64_t> values = input.latencies_ns;
  for (std::size_t first = 0; first < values.size(); first += length) {
    round.blocks.push_back(
        make_block(values.subspan(first, std::min(length, values.size() - first)), numbers));
  }
  return round;
}

// One resample at a time; the buffers are kept between resamples.
class Resampler {
 public:
  Resampler(std::vector<Round> rounds, const BucketNumbers& numbers, std::uint64_t seed)
      : rounds_(std::move(rounds)), numbers_(&numbers), random_(seed), counts_(numbers.size()) {}

  void draw() {
    std::ranges::fill(counts_, 0U);
    count_ = 0;
    sum_ = 0;
    double rates = 0;
    for (std::size_t i = 0; i < rounds_.size(); ++i) {
      rates += draw_round(rounds_[random_.below(rounds_.size())]);
    }
    rate_ = rates / static_cast<double>(rounds_.size());
  }

  double rate() const { return rate_; }
  double mean_ns() const { return sum_ / static_cast<double>(count_); }
  double percentile_ns(Fraction p) const {
    std::uint64_t left = nearest_rank(p, count_);
    std::size_t number = 0;
    while (counts_[number] < left) left -= counts_[number++];
    return static_cast<double>(numbers_->value(number));
  }

 private:
  // Adds a resample of the round's blocks; returns its rate. In a closed loop the rate is inverse
  // to the mean latency, so the resampled mean scales the rate that was counted.
  double draw_round(const Round& round) {
    double sum = 0;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < round.blocks.size(); ++i) {
      const Block& block = round.blocks[random_.below(round.blocks.size())];
      sum += block.sum;
      count += block.count;
      for (const auto& [number, times] : block.buckets) counts_[number] += times;
    }
    sum_ += sum;
    count_ += count;
    const double resampled_mean = sum / static_cast<double>(count);
    return resampled_mean > 0 ? round.rate * round.mean / resampled_mean : round.rate;
  }

  std::vector<Round> rounds_;
  const BucketNumbers* numbers_;
  Random random_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double rate_ = 0;
};

// The middle `confidence` of resampled values.
Interval middle(std::vector<double>& values, double confidence) {
  std::ranges::sort(values);
  const double tail = (1 - confidence) / 2;
  const auto cut = static_cast<std::size_t>(tail * static_cast<double>(values.size()));
  return {values[cut], values[values.size() - 1 - cut]};
}

}  // namespace

std::size_t block_length(std::size_t n, double integrated_time) {
  const double cube_root = std::cbrt(static_cast<double>(n));
  const auto length = static_cast<std::size_t>(std::ceil(std::max(cube_root, 2 * integrated_time)));
  const std::size_t shortest = (n + kMaxBlocks - 1) / kMaxBlocks;
  return std::clamp<std::size_t>(std::max(length, shortest), 1, std::max<std::size_t>(n, 1));
}

std::optional<BootstrapResult> block_bootstrap(std::span<const BootstrapRound> rounds,
                                               std::span<const Fraction> percentiles,
                                               const BootstrapSettings& settings) {
  const auto empty = [](const BootstrapRound& round) { return round.latencies_ns.empty(); };
  if (rounds.empty() || settings.resamples == 0 || std::ranges::any_of(rounds, empty)) {
    return std::nullopt;
  }
  BootstrapResult result;
  const BucketNumbers numbers(rounds);
  std::vector<Round> prepared;
  for (const BootstrapRound& round : rounds) {
    const double time = autocorrelation(round.latencies_ns).integrated_time;
    result.block_lengths.push_back(block_length(round.latencies_ns.size(), time));
    prepared.push_back(make_round(round, result.block_lengths.back(), numbers));
  }
  Resampler resampler(std::move(prepared), numbers, settings.seed);
  std::vector<double> rates;
  std::vector<double> means;
  std::vector<std::vector<double>> values(percentiles.size());
  for (std::uint32_t i = 0; i < settings.resamples; ++i) {
    resampler.draw();
    rates.push_back(resampler.rate());
    means.push_back(resampler.mean_ns());
    for (std::size_t p = 0; p < percentiles.size(); ++p) {
      values[p].push_back(resampler.percentile_ns(percentiles[p]));
    }
  }
  result.rate = middle(rates, settings.confidence);
  result.mean_ns = middle(means, settings.confidence);
  for (std::vector<double>& one : values) {
    result.percentiles_ns.push_back(middle(one, settings.confidence));
  }
  return result;
}

}  // namespace assay::loadgen
