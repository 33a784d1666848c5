#include "planes.h"

#include <algorithm>

namespace graphcore::arith {

PlaneLayout::PlaneLayout(const Conv2dShape& shape, std::size_t panel_columns)
    : shape_(shape),
      pitch_(pieces_of(shape.width + shape.pad_left + shape.pad_right, shape.stride_x)),
      part_(pitch_ * pieces_of(shape.height + shape.pad_top + shape.pad_bottom, shape.stride_y)),
      columns_((shape.out_height() - 1) * pitch_ + shape.out_width()),
      // The last panel reads beyond the last output.
      size_(part_ * shape.stride_y * shape.stride_x + panel_columns) {
  for (std::size_t ky = 0; ky < shape.kernel_y; ++ky) {
    for (std::size_t kx = 0; kx < shape.kernel_x; ++kx) {
      taps_.push_back(
          static_cast<std::ptrdiff_t>(place(ky * shape.dilation_y, kx * shape.dilation_x)));
    }
  }
}

std::size_t PlaneLayout::place(std::size_t y, std::size_t x) const {
  const std::size_t remainder = y % shape_.stride_y * shape_.stride_x + x % shape_.stride_x;
  return remainder * part_ + y / shape_.stride_y * pitch_ + x / shape_.stride_x;
}

Columns PlaneLayout::output_columns(std::size_t panel_columns) const {
  Columns columns;
  columns.elements.resize(pieces_of(columns_, panel_columns) * panel_columns);
  columns.counted.resize(columns.elements.size());
  const std::size_t width = shape_.out_width();
  for (std::size_t y = 0; y < shape_.out_height(); ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      columns.elements[y * pitch_ + x] = static_cast<std::uint32_t>(y * width + x);
      columns.counted[y * pitch_ + x] = ~0U;
    }
  }
  return columns;
}

void PlaneLayout::fill(const float* plane, float* to) const {
  for (std::size_t y = 0; y < shape_.height; ++y, plane += shape_.width) {
    // The pixels of a row with one remainder follow each other.
    for (std::size_t first = 0; first < std::min(shape_.stride_x, shape_.width); ++first) {
      float* row = to + place(y + shape_.pad_top, first + shape_.pad_left);
      for (std::size_t x = first; x < shape_.width; x += shape_.stride_x) *row++ = plane[x];
    }
  }
}

}  // namespace graphcore::arith
