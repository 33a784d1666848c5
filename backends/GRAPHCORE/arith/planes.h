#pragma once

// One channel of an image, laid out for a convolution by channel: padded, and split so that what a
// tap reads over the whole output is one contiguous run.

#include <cstddef>
#include <vector>

#include "arithmetic.h"
#include "panel.h"

namespace graphcore::arith {

class PlaneLayout {
 public:
  PlaneLayout(const Conv2dShape& shape, std::size_t panel_columns);

  std::size_t size() const { return size_; }  // floats of the laid out plane
  // The output in this layout: rows `pitch` apart, in all `columns`, of which some lie between
  // rows.
  std::size_t pitch() const { return pitch_; }
  std::size_t columns() const { return columns_; }
  // Where tap ky * kernel_x + kx begins.
  const std::vector<std::ptrdiff_t>& taps() const { return taps_; }
  Columns output_columns(std::size_t panel_columns) const;

  // `to` has size() zeros, or an earlier plane of this layout.
  void fill(const float* plane, float* to) const;

 private:
  std::size_t place(std::size_t y, std::size_t x) const;  // of a pixel of the padded plane

  Conv2dShape shape_;
  std::size_t pitch_;
  std::size_t part_;  // floats of the pixels that have one remainder by the strides
  std::size_t columns_;
  std::size_t size_;
  std::vector<std::ptrdiff_t> taps_;
};

}  // namespace graphcore::arith
