#include "arithmetic.h"

namespace graphcore::arith {

const char* objection(const MatMulShape& shape) {
  if (shape.batch == 0 || shape.m == 0 || shape.k == 0 || shape.n == 0) return "a size is zero";
  return nullptr;
}

const char* objection(const Conv2dShape& shape) {
  for (const std::size_t size :
       {shape.batch, shape.channels, shape.height, shape.width, shape.filters, shape.groups,
        shape.kernel_y, shape.kernel_x, shape.stride_y, shape.stride_x, shape.dilation_y,
        shape.dilation_x}) {
    if (size == 0) return "a size, stride or dilation is zero";
  }
  if (shape.channels % shape.groups != 0) return "the groups do not divide the channels";
  if (shape.filters % shape.groups != 0) return "the groups do not divide the filters";
  if (shape.dilation_y * (shape.kernel_y - 1) >= shape.height + shape.pad_top + shape.pad_bottom ||
      shape.dilation_x * (shape.kernel_x - 1) >= shape.width + shape.pad_left + shape.pad_right) {
    return "the kernel is larger than the padded input";
  }
  return nullptr;
}

}  // namespace graphcore::arith
