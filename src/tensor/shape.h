#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay {

// Dimensions, outermost first. -1 stands for a free one, in signatures only. Rank 0 is a scalar:
// one element. A dimension of 0 is legal: no element.
using Shape = std::vector<std::int64_t>;

// "[1,3,224,224]", "[]" for a scalar, "[?,10]" with a free dimension.
std::string to_string(const Shape& shape);

// Elements of a concrete shape. kInvalidArgument for a negative dimension; kOutOfRange when the
// product does not fit.
Result<std::int64_t> element_count(const Shape& shape);

// True when `shape` is concrete and equals `pattern` wherever that is not free.
bool matches(const Shape& shape, const Shape& pattern);

// `shape` at batch 1 -> at batch `n`: dimension `axis` multiplied by n (it need not be 1). A free
// dimension becomes n. kInvalidArgument for a scalar or an axis outside the rank.
Result<Shape> with_batch(const Shape& shape, std::int64_t n, std::size_t axis = 0);

}  // namespace assay
