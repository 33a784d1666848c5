#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace assay {

// Element types of tensors. The numbers are those of the backend boundary (assay/backend.h) and of
// bundles: never reuse one.
enum class DType : std::uint32_t {
  kFloat64 = 1,
  kFloat32 = 2,
  kFloat16 = 3,   // IEEE binary16
  kBFloat16 = 4,  // upper half of binary32
  kFloat8E4M3 = 5,
  kInt64 = 6,
  kInt32 = 7,
  kInt16 = 8,
  kInt8 = 9,
  kUInt8 = 10,
  kBool = 11,  // one byte, 0 or 1
  kUInt16 = 12,
  kUInt32 = 13,
  kUInt64 = 14,
};

// Bytes of one element.
std::size_t size_of(DType dtype);

// The name used in files and messages: "FLOAT32", "INT64", ...
std::string_view name_of(DType dtype);

// Accepts the names of files, in any case, with the published synonyms: LONG is INT64, FP8 is
// FLOAT8E4M3, FP16/HALF, BF16, FP32/FLOAT, DOUBLE. STRING is refused: no tensor of ours holds text.
Result<DType> parse_dtype(std::string_view name);

// False for a number outside the list, as may come over the boundary.
bool is_dtype(std::uint32_t number);

bool is_floating(DType dtype);

}  // namespace assay
