#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "tensor/dtype.h"

namespace assay {

// What a conversion between dtypes may lose.
enum class Loss {
  kNone,      // every value of `from` has an equal in `to`: FLOAT16 -> FLOAT32, INT32 -> INT64
  kRounding,  // nearest value, ties to even; overflow to infinity: FLOAT32 -> FLOAT16
  kRange,     // exact where the value fits, else refused at conversion: INT64 -> INT32
};
// kUnimplemented when no conversion is defined (floating to integer: never meant by accident).
Result<Loss> conversion_loss(DType from, DType to);

// Converts elements one by one; `to_bytes` has room for as many elements as `from_bytes` holds.
// NaN stays NaN, Inf stays Inf. kOutOfRange when an integer does not fit, naming index and value.
Status convert(DType from, std::span<const std::byte> from_bytes, DType to,
               std::span<std::byte> to_bytes);

// IEEE binary16 and bfloat16 by bits, round to nearest even. Source: IEEE 754-2019, 4.3.1.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

}  // namespace assay
