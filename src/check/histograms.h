#pragma once

// Histograms of fixed size that need no range beforehand. Internal to check.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::check {

// Non-negative magnitudes in log-linear bins: 64 to each power of two from 2^-16 to 2^64. Whole
// numbers up to 128 have a bin of their own. Smaller values count as 2^-16, larger ones as 2^64.
class LogLinearHistogram {
 public:
  void add(std::span<const double> magnitudes);
  void add_zeros(std::uint64_t count) { zeros_ += count; }

  // Nearest-rank quantile: the lower edge of the bin it falls in. 0 when empty. 0 < p <= 1.
  double quantile(double p) const;

 private:
  static constexpr int kLowExponent = -16;
  static constexpr int kHighExponent = 64;
  static constexpr int kBinsPerPower = 64;

  std::uint64_t zeros_ = 0;
  std::uint64_t total_ = 0;  // without zeros
  std::vector<std::uint64_t> counts_ =
      std::vector<std::uint64_t>(std::size_t{kHighExponent - kLowExponent} * kBinsPerPower + 1);
};

// Signed values in equal steps around 0. The range is a power of two and doubles when a value falls
// outside, two bins becoming one, so that every count stays exact.
class SteppedHistogram {
 public:
  static constexpr std::size_t kBins = 128;

  // `largest` is the largest magnitude among the values.
  void add(std::span<const double> values, double largest);
  void add_zeros(std::uint64_t count) { counts_[kBins / 2] += count; }

  double low() const { return -range_; }
  double step() const { return 2.0 * range_ / kBins; }
  const std::array<std::uint64_t, kBins>& counts() const { return counts_; }

 private:
  void widen_to(double largest);

  double range_ = 0.0;  // bins cover [-range_, range_); 0 until a value that is not 0 comes
  std::array<std::uint64_t, kBins> counts_{};
};

// Non-negative magnitudes by powers of two, 2^-64 to 2^64; the ends take what is beyond.
class PowerHistogram {
 public:
  static constexpr int kLowExponent = -64;
  static constexpr std::size_t kBins = 128;

  void add(std::span<const double> magnitudes);
  void add_zeros(std::uint64_t count) { zeros_ += count; }

  std::uint64_t zeros() const { return zeros_; }
  const std::array<std::uint64_t, kBins>& counts() const { return counts_; }

 private:
  std::uint64_t zeros_ = 0;
  std::array<std::uint64_t, kBins> counts_{};
};

}  // namespace assay::check
