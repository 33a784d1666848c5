#pragma once

// A block of elements of any dtype as doubles, small enough to stay in the first-level cache, and
// what is done to it before its sums are taken. Internal to check.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "check/numeric_kernel.h"
#include "tensor/dtype.h"

namespace assay::check {

// Elements as doubles. After compact() every pair is finite on both sides.
struct Block {
  std::size_t size = 0;
  alignas(64) std::array<double, kBlockElements> ref;
  alignas(64) std::array<double, kBlockElements> got;
  alignas(64) std::array<double, kBlockElements> diff;  // got - ref
};

struct NonFinite {
  std::uint64_t mismatches = 0;
  std::uint64_t nan_both = 0;
  std::uint64_t inf_both = 0;
};

// Fills ref, got and diff from raw elements, at most kBlockElements of them.
void load_block(DType ref_dtype, std::span<const std::byte> ref, DType got_dtype,
                std::span<const std::byte> got, Block& block);

// True for a pair of which one is NaN or infinite and the other is not the same.
bool is_mismatch(double ref, double got);

// Takes pairs with a NaN or an infinity out of the block, order kept, and counts them.
NonFinite compact(Block& block);

// The largest magnitude; 0 of none. The values are finite.
double largest_magnitude(std::span<const double> values);

}  // namespace assay::check
