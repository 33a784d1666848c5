#include "check/histograms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace assay::check {
namespace {

constexpr int kExponentBias = 1023;
constexpr int kFractionBits = 52;
constexpr int kLinearBits = 6;  // log2 of the bins to a power

// Sign-less bits of a double grow with its magnitude: their upper part is a log-linear index.
std::int64_t upper_bits(double magnitude, int fraction_bits_kept) {
  return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(magnitude) >>
                                   (kFractionBits - fraction_bits_kept));
}

}  // namespace

void LogLinearHistogram::add(std::span<const double> magnitudes) {
  constexpr std::int64_t first = std::int64_t{kExponentBias + kLowExponent} << kLinearBits;
  const auto last = static_cast<std::int64_t>(counts_.size()) - 1;
  std::uint64_t zeros = 0;
  for (const double magnitude : magnitudes) {
    const std::int64_t bin =
        std::clamp<std::int64_t>(upper_bits(magnitude, kLinearBits) - first, 0, last);
    const std::uint64_t is_zero = magnitude == 0.0 ? 1 : 0;
    zeros += is_zero;
    counts_[static_cast<std::size_t>(bin)] += 1 - is_zero;
  }
  zeros_ += zeros;
  total_ += magnitudes.size() - zeros;
}

double LogLinearHistogram::quantile(double p) const {
  const std::uint64_t all = zeros_ + total_;
  const double wanted = std::ceil(p * static_cast<double>(all));
  auto seen = static_cast<double>(zeros_);
  if (all == 0 || wanted <= seen) return 0.0;
  for (std::size_t bin = 0; bin < counts_.size(); ++bin) {
    seen += static_cast<double>(counts_[bin]);
    if (seen < wanted) continue;
    const int exponent = kLowExponent + static_cast<int>(bin) / kBinsPerPower;
    return std::ldexp(1.0 + static_cast<double>(bin % kBinsPerPower) / kBinsPerPower, exponent);
  }
  return std::ldexp(1.0, kHighExponent);
}

void SteppedHistogram::add(std::span<const double> values, double largest) {
  if (largest == 0.0) return add_zeros(values.size());
  if (largest >= range_) widen_to(largest);
  constexpr double middle = static_cast<double>(kBins) / 2;
  const double per_step = middle / range_;
  for (const double value : values) {
    const double position = std::clamp(value * per_step + middle, 0.0, kBins - 0.5);
    ++counts_[static_cast<std::size_t>(position)];
  }
}

void SteppedHistogram::widen_to(double largest) {
  // Beyond 2^1022 the last bins take what is outside: 2 * range must stay a number.
  const double number = std::min(largest, std::numeric_limits<double>::max());
  const double wanted = std::ldexp(1.0, std::min(std::ilogb(number) + 1, 1022));
  if (range_ == 0.0) range_ = std::max(wanted, 0x1p-1000);
  constexpr std::size_t half = kBins / 2;
  while (range_ < wanted) {
    std::array<std::uint64_t, kBins> wider{};
    for (std::size_t i = 0; i < half; ++i) {
      wider[half + i / 2] += counts_[half + i];
      wider[half - 1 - i / 2] += counts_[half - 1 - i];
    }
    counts_ = wider;
    range_ *= 2.0;
  }
}

void PowerHistogram::add(std::span<const double> magnitudes) {
  constexpr std::int64_t first = kExponentBias + kLowExponent;
  constexpr std::int64_t last = kBins - 1;
  std::uint64_t zeros = 0;
  for (const double magnitude : magnitudes) {
    const std::int64_t bin = std::clamp<std::int64_t>(upper_bits(magnitude, 0) - first, 0, last);
    const std::uint64_t is_zero = magnitude == 0.0 ? 1 : 0;
    zeros += is_zero;
    counts_[static_cast<std::size_t>(bin)] += 1 - is_zero;
  }
  zeros_ += zeros;
}

}  // namespace assay::check
