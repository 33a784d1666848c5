#include "tensor/shape.h"

#include <fmt/format.h>

namespace assay {

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t dimension : shape) {
    if (text.size() > 1) text += ',';
    text += dimension < 0 ? "?" : std::to_string(dimension);
  }
  return text + "]";
}

Result<std::int64_t> element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) {
      return invalid_argument(fmt::format("shape {} has a free dimension", to_string(shape)));
    }
    if (__builtin_mul_overflow(count, dimension, &count)) {
      return out_of_range(fmt::format("shape {} has too many elements", to_string(shape)));
    }
  }
  return count;
}

bool matches(const Shape& shape, const Shape& pattern) {
  if (shape.size() != pattern.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) return false;
    if (pattern[i] >= 0 && shape[i] != pattern[i]) return false;
  }
  return true;
}

Result<Shape> with_batch(const Shape& shape, std::int64_t n, std::size_t axis) {
  if (axis >= shape.size()) {
    return invalid_argument(fmt::format("shape {} has no batch axis {}", to_string(shape), axis));
  }
  Shape batched = shape;
  batched[axis] = shape[axis] < 0 ? n : shape[axis] * n;
  return batched;
}

}  // namespace assay
