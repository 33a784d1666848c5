#pragma once

// The arithmetic of the numeric comparison on one block of elements: small enough to stay in the
// first-level cache while several simple loops pass over it. Internal to check.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "check/elements.h"
#include "tensor/dtype.h"

namespace assay::check {

inline constexpr std::size_t kBlockElements = 512;

// Elements as doubles. After compact() every pair is finite on both sides.
struct Block {
  std::size_t size = 0;
  alignas(64) std::array<double, kBlockElements> ref;
  alignas(64) std::array<double, kBlockElements> got;
  alignas(64) std::array<double, kBlockElements> diff;      // got - ref
  alignas(64) std::array<double, kBlockElements> abs_diff;  // |got - ref|
  alignas(64) std::array<double, kBlockElements> ulps;      // of those measured, packed
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

struct Tolerance {
  double atol = 0.0;
  double rtol = 0.0;
};

// Sums over a block of finite pairs.
struct BlockSums {
  // The spread of |d| is summed around one of its values, so that a large mean does not cancel it.
  double pivot = 0.0;
  double abs_shifted = 0.0;  // of |d| - pivot
  double abs_shifted_squared = 0.0;
  double signed_sum = 0.0;
  double squared = 0.0;  // of d
  double ref_ref = 0.0;
  double got_got = 0.0;
  double ref_got = 0.0;
  double max_abs = 0.0;
  double max_ref = 0.0;  // magnitudes
  double max_got = 0.0;
  std::uint64_t differing = 0;
};
// Fills abs_diff too. The block must not be empty.
BlockSums sum_block(Block& block);

// Over elements with |ref| >= atol and ref != 0.
struct RelativeSums {
  double sum = 0.0;
  double max = 0.0;
  std::uint64_t elements = 0;
  std::uint64_t outside = 0;  // of all elements: |d| > atol + rtol * |ref|
};
RelativeSums relative_block(const Block& block, const Tolerance& tolerance);

// |d| in units in the last place of `format` at |ref|, for the same elements as RelativeSums,
// packed into block.ulps. Returns how many; `max_ulps` is raised to the largest.
std::size_t ulp_block(Block& block, const Tolerance& tolerance, const FloatFormat& format,
                      double& max_ulps);

}  // namespace assay::check
