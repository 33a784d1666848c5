#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace assay::loadgen {

// Log-linear buckets over non-negative nanoseconds: values below 2 * 2^kBits have a bucket each,
// and every octave above is cut into 2^kBits equal ones. A bucket's width is at most 2^-kBits of
// its lower edge and its value is the midpoint, so a stored value is off by at most 2^-(kBits+1) of
// itself. Values beyond kLimitNs share the last bucket.
template <unsigned kBits>
struct LogLinear {
  static constexpr unsigned kLimitLog2 = 44;  // 4.9 hours
  static constexpr std::int64_t kLimitNs = std::int64_t{1} << kLimitLog2;
  static constexpr std::size_t kPerOctave = std::size_t{1} << kBits;
  static constexpr std::size_t kBuckets = (kLimitLog2 - kBits + 1) * kPerOctave;
  static constexpr double kRelativeError = 1.0 / static_cast<double>(2 * kPerOctave);

  // Bucket of a latency; negative counts as 0.
  static constexpr std::size_t bucket(std::int64_t latency_ns) {
    if (latency_ns < 0) return 0;
    if (latency_ns >= kLimitNs) return kBuckets - 1;
    const auto value = static_cast<std::uint64_t>(latency_ns);
    if (value < kPerOctave) return static_cast<std::size_t>(value);
    const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
    return shift * kPerOctave + static_cast<std::size_t>(value >> shift);
  }

  // Smallest value of a bucket. bucket < kBuckets.
  static constexpr std::int64_t lower_ns(std::size_t bucket) {
    if (bucket < 2 * kPerOctave) return static_cast<std::int64_t>(bucket);
    const std::size_t shift = bucket / kPerOctave - 1;
    return static_cast<std::int64_t>((kPerOctave + bucket % kPerOctave) << shift);
  }

  // First value beyond a bucket.
  static constexpr std::int64_t upper_ns(std::size_t bucket) {
    return bucket + 1 < kBuckets ? lower_ns(bucket + 1) : kLimitNs;
  }

  // The value that stands for a bucket: its midpoint, rounded down.
  static constexpr std::int64_t value_ns(std::size_t bucket) {
    return lower_ns(bucket) + (upper_ns(bucket) - 1 - lower_ns(bucket)) / 2;
  }
};

// The recorder's own: 1/128 wide, values off by at most 1/256.
using RecordBuckets = LogLinear<7>;

}  // namespace assay::loadgen
