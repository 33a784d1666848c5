#pragma once

// Elements of any dtype as doubles, block by block: the form in which outputs are compared.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace assay::check {

// Writes element_bytes.size() / size_of(dtype) values to `out`, which has room for them. Exact for
// every dtype but INT64 and UINT64, which round beyond 2^53. The bytes need no alignment.
void load_doubles(DType dtype, std::span<const std::byte> element_bytes, double* out);

// got - ref of 64-bit integers, exact before it is rounded to a double once.
void integer_differences(DType ref_dtype, std::span<const std::byte> ref, DType got_dtype,
                         std::span<const std::byte> got, double* out);

// IEEE-style format of a floating dtype: bits of significand with the hidden one, and the exponent
// of the smallest normal number. FLOAT32 is {24, -126}.
struct FloatFormat {
  int significand_bits;
  int exponent_min;
};
FloatFormat format_of(DType floating);

// The floating dtype of fewer significand bits; the first of two equals.
DType coarser(DType a, DType b);

}  // namespace assay::check
