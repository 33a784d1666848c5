#include "check/pair_reader.h"

#include <algorithm>
#include <cmath>

namespace assay::check {
namespace {

bool all_finite(const PairSums& sums) { return std::isfinite(sums.ref_ref + sums.got_got); }

// `values` are those that `square_sum` is of: squares of a FLOAT64 may underflow.
bool are_zero(double square_sum, std::span<const double> values) {
  return square_sum == 0.0 && largest_magnitude(values) == 0.0;
}

}  // namespace

PairReader::PairReader(DType ref, DType got, const PairRules& rules, bool keep_values)
    : ref_dtype_(ref),
      got_dtype_(got),
      rules_(rules),
      kept_values_(keep_values ? &values_ : nullptr),
      kernel_(&numeric_kernels().front()) {}

// FLOAT32 on both sides is read where it lies; anything else, and a block that is not finite
// throughout, by way of doubles.
BlockSums PairReader::sums_of(const RawPairs& sample, std::size_t first) {
  const RawPairs raw = block_of(sample, first);
  BlockSums sums;
  if (ref_dtype_ == DType::kFloat32 && got_dtype_ == DType::kFloat32) {
    compared_ = sums.compared = raw.ref.size() / sizeof(float);
    sums.pairs = kernel_->float32({raw.ref.data(), raw.got.data(), nullptr, compared_}, rules_,
                                  kept_values_);
    sums.ref_is_zero = sums.pairs.ref_ref == 0.0;
    sums.got_is_zero = sums.pairs.got_got == 0.0;
    if (all_finite(sums.pairs)) return sums;
  }
  load_block(ref_dtype_, raw.ref, got_dtype_, raw.got, block_);
  sums.pairs = sums_of_block();
  if (!all_finite(sums.pairs)) {
    sums.nonfinite = compact(block_);
    sums.pairs = sums_of_block();
  }
  compared_ = sums.compared = block_.size;
  sums.ref_is_zero = are_zero(sums.pairs.ref_ref, std::span(block_.ref).first(compared_));
  sums.got_is_zero = are_zero(sums.pairs.got_got, std::span(block_.got).first(compared_));
  return sums;
}

const Block& PairReader::load(const RawPairs& sample, std::size_t first) {
  const RawPairs raw = block_of(sample, first);
  load_block(ref_dtype_, raw.ref, got_dtype_, raw.got, block_);
  return block_;
}

RawPairs PairReader::block_of(const RawPairs& sample, std::size_t first) const {
  const std::size_t ref_size = size_of(ref_dtype_);
  const std::size_t got_size = size_of(got_dtype_);
  const std::size_t count = std::min(kBlockElements, sample.ref.size() / ref_size - first);
  return {sample.ref.subspan(first * ref_size, count * ref_size),
          sample.got.subspan(first * got_size, count * got_size)};
}

PairSums PairReader::sums_of_block() {
  const PairBlock pairs{std::as_bytes(std::span(block_.ref)).data(),
                        std::as_bytes(std::span(block_.got)).data(), block_.diff.data(),
                        block_.size};
  return kernel_->float64(pairs, rules_, kept_values_);
}

}  // namespace assay::check
