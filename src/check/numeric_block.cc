#include "check/numeric_block.h"

#include <algorithm>
#include <cmath>

namespace assay::check {
namespace {

bool is_wide_integer(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kUInt64; }

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
  NonFinite counts;
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

double largest_magnitude(std::span<const double> values) {
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  return largest;
}

}  // namespace assay::check
