#pragma once

// The pairs of one output, a block at a time: their sums, whatever their dtypes, and what does not
// fit into sums. Internal to check.

#include <cstddef>
#include <span>

#include "check/numeric_block.h"
#include "check/numeric_kernel.h"
#include "tensor/dtype.h"

namespace assay::check {

// Of the pairs in a block that are finite on both sides, and how many are not.
struct BlockSums {
  PairSums pairs;
  NonFinite nonfinite;
  std::size_t compared = 0;  // finite pairs
  bool ref_is_zero = true;   // every element
  bool got_is_zero = true;
};

// The bytes of both sides of one sample.
struct RawPairs {
  std::span<const std::byte> ref;
  std::span<const std::byte> got;
};

class PairReader {
 public:
  // With `keep_values`, sums_of() also leaves what the histograms are of.
  PairReader(DType ref, DType got, const PairRules& rules, bool keep_values);

  // Of at most kBlockElements elements, from `first` on.
  BlockSums sums_of(const RawPairs& sample, std::size_t first);

  // Of the finite pairs of the last sums_of(), in order. Only when values are kept.
  std::span<const double> differences() const { return std::span(values_.diff).first(compared_); }
  std::span<const double> places() const { return std::span(values_.places).first(compared_); }

  // The same elements as doubles, until the next call.
  const Block& load(const RawPairs& sample, std::size_t first);

 private:
  RawPairs block_of(const RawPairs& sample, std::size_t first) const;
  PairSums sums_of_block();

  DType ref_dtype_;
  DType got_dtype_;
  PairRules rules_;
  PairValues* kept_values_;
  const NumericKernel* kernel_;
  std::size_t compared_ = 0;
  Block block_;
  PairValues values_;
};

}  // namespace assay::check
