#include "patches.h"

#include <algorithm>

namespace graphcore::arith {
namespace {

// Pixels of one row of the output: `count` from (y, x) on.
struct Run {
  std::size_t y = 0;
  std::size_t x = 0;
  std::size_t count = 0;
};

// The least number of steps of `stride` from `at` that reaches `goal`.
std::size_t steps_to(std::size_t at, std::size_t goal, std::size_t stride) {
  return at >= goal ? 0 : (goal - at + stride - 1) / stride;
}

// The inputs of tap (ky, kx) over a run.
void fill_run(const Conv2dShape& shape, const float* plane, const Run& run, std::size_t ky,
              std::size_t kx, float* to) {
  const std::size_t y = run.y * shape.stride_y + ky * shape.dilation_y;
  std::size_t begin = run.count;
  std::size_t end = run.count;
  const std::size_t x = run.x * shape.stride_x + kx * shape.dilation_x;
  if (y >= shape.pad_top && y - shape.pad_top < shape.height) {
    begin = std::min(run.count, steps_to(x, shape.pad_left, shape.stride_x));
    end = std::min(run.count, steps_to(x, shape.pad_left + shape.width, shape.stride_x));
  }
  std::fill_n(to, begin, 0.0F);
  if (begin < end) {
    const float* from =
        plane + (y - shape.pad_top) * shape.width + (x + begin * shape.stride_x - shape.pad_left);
    for (std::size_t i = begin; i < end; ++i, from += shape.stride_x) to[i] = *from;
  }
  std::fill(to + end, to + run.count, 0.0F);
}

void fill_tap(const Conv2dShape& shape, const float* plane, Run run, std::size_t width,
              std::size_t ky, std::size_t kx, float* to) {
  for (std::size_t left = width; left > 0; left -= run.count, to += run.count, ++run.y, run.x = 0) {
    run.count = std::min(left, shape.out_width() - run.x);
    fill_run(shape, plane, run, ky, kx, to);
  }
}

bool is_pointwise(const Conv2dShape& shape) {
  return shape.kernel_y == 1 && shape.kernel_x == 1 && shape.stride_y == 1 && shape.stride_x == 1 &&
         shape.pad_top + shape.pad_left + shape.pad_bottom + shape.pad_right == 0;
}

}  // namespace

void fill_patches(const Conv2dShape& shape, const float* input, std::size_t pixel,
                  std::size_t width, std::size_t panel_columns, float* panel) {
  const bool pointwise = is_pointwise(shape);
  const Run first{pixel / shape.out_width(), pixel % shape.out_width(), 0};
  for (std::size_t c = 0; c < shape.group_channels(); ++c) {
    const float* plane = input + c * shape.height * shape.width;
    for (std::size_t ky = 0; ky < shape.kernel_y; ++ky) {
      for (std::size_t kx = 0; kx < shape.kernel_x; ++kx, panel += panel_columns) {
        if (pointwise) {
          std::copy_n(plane + pixel, width, panel);
        } else {
          fill_tap(shape, plane, first, width, ky, kx, panel);
        }
        std::fill(panel + width, panel + panel_columns, 0.0F);
      }
    }
  }
}

}  // namespace graphcore::arith
