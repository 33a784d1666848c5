#include "check/histograms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "check/numeric_kernel.h"

namespace assay::check {
namespace {

using Slots = std::array<std::uint32_t, kBlockElements>;

// Hands `values` to `add_slots` with room for their slots, at most a block at a time.
template <typename AddSlots>
void for_blocks(std::span<const double> values, AddSlots&& add_slots) {
  Slots slots;
  for (std::size_t first = 0; first < values.size(); first += kBlockElements) {
    const std::size_t size = std::min(kBlockElements, values.size() - first);
    add_slots(values.subspan(first, size), std::span(slots).first(size));
  }
}

}  // namespace

void LogLinearHistogram::add(std::span<const double> magnitudes, int exponent,
                             std::uint64_t not_counted) {
  const LogBins bins{kLowExponent - exponent, kFractionBits, kBins};
  for_blocks(magnitudes, [&](std::span<const double> block, std::span<std::uint32_t> slots) {
    numeric_kernels().front().log_slots(block, bins, slots.data());
    counts_.add(slots);
  });
  total_ += magnitudes.size() - not_counted;
  zeros_ -= not_counted;  // modulo 2^64: counts_[0] has at least as many
}

double LogLinearHistogram::quantile(double p) const {
  const double wanted = std::ceil(p * static_cast<double>(total_));
  auto seen = static_cast<double>(zeros_ + counts_[0]);
  if (total_ == 0 || wanted <= seen) return 0.0;
  constexpr std::size_t kPerPower = std::size_t{1} << kFractionBits;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    seen += static_cast<double>(counts_[1 + bin]);
    if (seen < wanted) continue;
    const int exponent = kLowExponent + static_cast<int>(bin / kPerPower);
    return std::ldexp(1.0 + static_cast<double>(bin % kPerPower) / kPerPower, exponent);
  }
  return std::ldexp(1.0, kHighExponent);
}

void SteppedHistogram::add(std::span<const double> values, double largest) {
  if (largest == 0.0) return add_zeros(values.size());
  if (largest >= range_) widen_to(largest);
  const double per_step = static_cast<double>(kBins) / 2 / range_;
  for_blocks(values, [&](std::span<const double> block, std::span<std::uint32_t> slots) {
    numeric_kernels().front().step_slots(block, per_step, kBins, slots.data());
    counts_.add(slots);
  });
}

std::array<std::uint64_t, SteppedHistogram::kBins> SteppedHistogram::counts() const {
  std::array<std::uint64_t, kBins> sums = merged_;
  for (std::size_t i = 0; i < kBins; ++i) sums[i] += counts_[i];
  return sums;
}

void SteppedHistogram::widen_to(double largest) {
  // Beyond 2^1022 the last bins take what is outside: 2 * range must stay a number.
  const double number = std::min(largest, std::numeric_limits<double>::max());
  const double wanted = std::ldexp(1.0, std::min(std::ilogb(number) + 1, 1022));
  if (range_ == 0.0) range_ = std::max(wanted, 0x1p-1000);
  if (range_ >= wanted) return;
  merged_ = counts();
  counts_ = {};
  constexpr std::size_t kHalf = kBins / 2;
  for (; range_ < wanted; range_ *= 2.0) {
    std::array<std::uint64_t, kBins> wider{};
    for (std::size_t i = 0; i < kHalf; ++i) {
      wider[kHalf + i / 2] += merged_[kHalf + i];
      wider[kHalf - 1 - i / 2] += merged_[kHalf - 1 - i];
    }
    merged_ = wider;
  }
}

void PowerHistogram::add(std::span<const double> values) {
  const LogBins bins{kLowExponent, 0, kBins};
  for_blocks(values, [&](std::span<const double> block, std::span<std::uint32_t> slots) {
    numeric_kernels().front().log_slots(block, bins, slots.data());
    counts_.add(slots);
  });
}

std::array<std::uint64_t, PowerHistogram::kBins> PowerHistogram::counts() const {
  std::array<std::uint64_t, kBins> sums{};
  for (std::size_t i = 0; i < kBins; ++i) sums[i] = counts_[1 + i];
  return sums;
}

}  // namespace assay::check
