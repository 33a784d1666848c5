#pragma once

// Histograms of fixed size that need no range beforehand. Internal to check.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::check {

// Counters of slots. Neighbouring values often fall in one slot, and a counter can be stepped only
// so often: they take turns among several copies of it.
template <std::size_t kSlots, std::size_t kCopies>
class SlotCounts {
 public:
  void add(std::span<const std::uint32_t> slots) {
    std::size_t i = 0;
    for (; i + kCopies <= slots.size(); i += kCopies) {
      for (std::size_t copy = 0; copy < kCopies; ++copy) ++counts_[copy * kSlots + slots[i + copy]];
    }
    for (; i < slots.size(); ++i) ++counts_[slots[i]];
  }

  std::uint64_t operator[](std::size_t slot) const {
    std::uint64_t sum = 0;
    for (std::size_t copy = 0; copy < kCopies; ++copy) sum += counts_[copy * kSlots + slot];
    return sum;
  }

 private:
  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(kSlots * kCopies);
};

// Non-negative magnitudes in log-linear bins: 64 to each power of two from 2^-16 to 2^64. Whole
// numbers up to 128 have a bin of their own. Smaller values count as 2^-16, larger ones as 2^64.
class LogLinearHistogram {
 public:
  // Adds magnitude * 2^exponent of each. Of the zeros among them, `not_counted` are left out.
  void add(std::span<const double> magnitudes, int exponent = 0, std::uint64_t not_counted = 0);
  void add_zeros(std::uint64_t count) {
    zeros_ += count;
    total_ += count;
  }

  // Nearest-rank quantile: the lower edge of the bin it falls in. 0 when empty. 0 < p <= 1.
  double quantile(double p) const;

 private:
  static constexpr int kLowExponent = -16;
  static constexpr int kHighExponent = 64;
  static constexpr int kFractionBits = 6;  // 64 bins to each power of two
  static constexpr std::size_t kBins =
      (std::size_t{kHighExponent - kLowExponent} << kFractionBits) + 1;

  std::uint64_t zeros_ = 0;
  std::uint64_t total_ = 0;  // with zeros
  SlotCounts<kBins + 1, 2> counts_;
};

// Signed values in equal steps around 0. The range is a power of two and doubles when a value falls
// outside, two bins becoming one, so that every count stays exact.
class SteppedHistogram {
 public:
  static constexpr std::size_t kBins = 128;

  // `largest` is the largest magnitude among the values.
  void add(std::span<const double> values, double largest);
  void add_zeros(std::uint64_t count) { merged_[kBins / 2] += count; }

  double low() const { return -range_; }
  double step() const { return 2.0 * range_ / kBins; }
  std::array<std::uint64_t, kBins> counts() const;

 private:
  void widen_to(double largest);

  double range_ = 0.0;  // bins cover [-range_, range_); 0 until a value that is not 0 comes
  std::array<std::uint64_t, kBins> merged_{};  // of narrower ranges, and zeros
  SlotCounts<kBins, 8> counts_;                // of this range
};

// Magnitudes, by powers of two, of values of either sign: 2^-64 to 2^64; the ends take what is
// beyond.
class PowerHistogram {
 public:
  static constexpr int kLowExponent = -64;
  static constexpr std::size_t kBins = 128;

  void add(std::span<const double> values);
  void add_zeros(std::uint64_t count) { zeros_ += count; }

  std::uint64_t zeros() const { return zeros_ + counts_[0]; }
  std::array<std::uint64_t, kBins> counts() const;

 private:
  std::uint64_t zeros_ = 0;
  SlotCounts<kBins + 1, 8> counts_;
};

}  // namespace assay::check
