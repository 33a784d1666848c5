#include "check/numeric_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace assay::check {
namespace {

// Sums are kept in this many partial sums, whatever the vector width of the machine is: the same
// elements give the same bits everywhere. (This file is compiled without contraction to fused
// multiply-adds for the same reason.)
constexpr std::size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

double add_lanes(const Lanes& lanes) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// Calls step(lane, element) for every element, lane by lane.
template <typename Step>
inline void for_lanes(std::size_t size, Step&& step) {
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) step(lane, i + lane);
  }
  for (std::size_t lane = 0; i + lane < size; ++lane) step(lane, i + lane);
}

template <typename Term>
inline double lane_sum(std::size_t size, Term&& term) {
  Lanes lanes{};
  for_lanes(size, [&](std::size_t lane, std::size_t i) { lanes[lane] += term(i); });
  return add_lanes(lanes);
}

template <typename Term>
inline double lane_max(std::size_t size, Term&& term) {
  Lanes lanes{};
  for_lanes(size, [&](std::size_t lane, std::size_t i) {
    const double value = term(i);
    lanes[lane] = value > lanes[lane] ? value : lanes[lane];
  });
  return *std::max_element(lanes.begin(), lanes.end());
}

// How many elements satisfy the condition. Counted in doubles: exact at this size, and it
// vectorises.
template <typename Condition>
inline std::uint64_t lane_count(std::size_t size, Condition&& condition) {
  return static_cast<std::uint64_t>(
      lane_sum(size, [&](std::size_t i) { return condition(i) ? 1.0 : 0.0; }));
}

bool is_wide_integer(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kUInt64; }

double power_of_two(std::uint64_t biased_exponent) {
  return std::bit_cast<double>(biased_exponent << 52);
}

}  // namespace

void load_block(DType ref_dtype, std::span<const std::byte> ref, DType got_dtype,
                std::span<const std::byte> got, Block& block) {
  block.size = ref.size() / size_of(ref_dtype);
  load_doubles(ref_dtype, ref, block.ref.data());
  load_doubles(got_dtype, got, block.got.data());
  if (is_wide_integer(ref_dtype) || is_wide_integer(got_dtype)) {
    return integer_differences(ref_dtype, ref, got_dtype, got, block.diff.data());
  }
  for (std::size_t i = 0; i < block.size; ++i) block.diff[i] = block.got[i] - block.ref[i];
}

bool is_mismatch(double ref, double got) {
  if (std::isfinite(ref) && std::isfinite(got)) return false;
  return !(ref == got || (std::isnan(ref) && std::isnan(got)));
}

NonFinite compact(Block& block) {
  // x - x is 0 for a number and NaN for everything else.
  const double witness = lane_sum(block.size, [&](std::size_t i) {
    return (block.ref[i] - block.ref[i]) + (block.got[i] - block.got[i]);
  });
  NonFinite counts;
  if (witness == 0.0) return counts;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < block.size; ++i) {
    const double ref = block.ref[i];
    const double got = block.got[i];
    if (std::isfinite(ref) && std::isfinite(got)) {
      block.ref[kept] = ref;
      block.got[kept] = got;
      block.diff[kept++] = block.diff[i];
      continue;
    }
    if (is_mismatch(ref, got)) {
      ++counts.mismatches;
    } else {
      ++(std::isnan(ref) ? counts.nan_both : counts.inf_both);
    }
  }
  block.size = kept;
  return counts;
}

BlockSums sum_block(Block& block) {
  const std::size_t size = block.size;
  const double* const ref = block.ref.data();
  const double* const got = block.got.data();
  const double* const diff = block.diff.data();
  double* const abs_diff = block.abs_diff.data();
  for (std::size_t i = 0; i < size; ++i) abs_diff[i] = std::fabs(diff[i]);
  BlockSums sums;
  const double pivot = abs_diff[0];
  sums.pivot = pivot;
  sums.abs_shifted = lane_sum(size, [=](std::size_t i) { return abs_diff[i] - pivot; });
  sums.abs_shifted_squared = lane_sum(size, [=](std::size_t i) {
    const double shifted = abs_diff[i] - pivot;
    return shifted * shifted;
  });
  sums.signed_sum = lane_sum(size, [=](std::size_t i) { return diff[i]; });
  sums.squared = lane_sum(size, [=](std::size_t i) { return diff[i] * diff[i]; });
  sums.ref_ref = lane_sum(size, [=](std::size_t i) { return ref[i] * ref[i]; });
  sums.got_got = lane_sum(size, [=](std::size_t i) { return got[i] * got[i]; });
  sums.ref_got = lane_sum(size, [=](std::size_t i) { return ref[i] * got[i]; });
  sums.max_abs = lane_max(size, [=](std::size_t i) { return abs_diff[i]; });
  sums.max_ref = lane_max(size, [=](std::size_t i) { return std::fabs(ref[i]); });
  sums.max_got = lane_max(size, [=](std::size_t i) { return std::fabs(got[i]); });
  sums.differing = lane_count(size, [=](std::size_t i) { return diff[i] != 0.0; });
  return sums;
}

RelativeSums relative_block(const Block& block, const Tolerance& tolerance) {
  const double atol = tolerance.atol;
  const double rtol = tolerance.rtol;
  const double* const ref = block.ref.data();
  const double* const abs_diff = block.abs_diff.data();
  const auto counts = [=](double magnitude) { return magnitude >= atol && magnitude > 0.0; };
  const auto relative = [=](std::size_t i) {
    const double magnitude = std::fabs(ref[i]);
    const bool counted = counts(magnitude);
    const double ratio = abs_diff[i] / (counted ? magnitude : 1.0);
    return counted ? ratio : 0.0;
  };
  RelativeSums sums;
  sums.sum = lane_sum(block.size, relative);
  sums.max = lane_max(block.size, relative);
  sums.elements = lane_count(block.size, [=](std::size_t i) { return counts(std::fabs(ref[i])); });
  sums.outside = lane_count(
      block.size, [=](std::size_t i) { return abs_diff[i] > atol + rtol * std::fabs(ref[i]); });
  return sums;
}

std::size_t ulp_block(Block& block, const Tolerance& tolerance, const FloatFormat& format,
                      double& max_ulps) {
  // One unit at |ref| = 2^e * 1.f is 2^(e - significand_bits + 1). Multiplying by 2^(1-e) and then
  // by 2^(significand_bits-2) divides by it, and neither factor can overflow for any double.
  const auto lowest = static_cast<std::uint64_t>(std::int64_t{format.exponent_min} + 1023);
  const double rest = std::ldexp(1.0, format.significand_bits - 2);
  std::size_t count = 0;
  double largest = max_ulps;
  for (std::size_t i = 0; i < block.size; ++i) {
    const double magnitude = std::fabs(block.ref[i]);
    const std::uint64_t biased = std::max(std::bit_cast<std::uint64_t>(magnitude) >> 52, lowest);
    const double ulps = block.abs_diff[i] * power_of_two(2047 - biased) * rest;
    block.ulps[count] = ulps;
    const bool counted = magnitude >= tolerance.atol && magnitude > 0.0;
    count += counted ? 1 : 0;
    largest = counted && ulps > largest ? ulps : largest;
  }
  max_ulps = largest;
  return count;
}

}  // namespace assay::check
