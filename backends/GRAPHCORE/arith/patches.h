#pragma once

// The inputs under a convolution's kernel, as the rows of a matrix b: row (channel, ky, kx), in the
// order of the weights, and a column for each output pixel.

#include "arithmetic.h"

namespace graphcore::arith {

// `width` pixels from `pixel` on of one group of one image, whose first channel is `input`. The
// other columns of the panel become 0.
void fill_patches(const Conv2dShape& shape, const float* input, std::size_t pixel,
                  std::size_t width, std::size_t panel_columns, float* panel);

}  // namespace graphcore::arith
