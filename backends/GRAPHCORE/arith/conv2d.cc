#include "conv2d.h"

#include <algorithm>
#include <memory>

#include "panel.h"
#include "patches.h"
#include "planes.h"

namespace graphcore::arith {
namespace {

struct Operands {
  const float* input = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;
};

// The parts of a tile that are the same whatever the columns: all filters of one group of one
// image.
Tile tile_of(const Conv2dShape& shape, const Operands& operands, std::size_t image,
             std::size_t group) {
  const std::size_t filter = group * shape.group_filters();
  const std::size_t pixels = shape.out_height() * shape.out_width();
  Tile tile;
  tile.a = operands.weights + filter * shape.reduction();
  tile.a_stride = shape.reduction();
  tile.k = shape.reduction();
  tile.row_bias = operands.bias != nullptr ? operands.bias + filter : nullptr;
  tile.first = static_cast<std::uint32_t>((image * shape.filters + filter) * pixels);
  tile.row_elements = static_cast<std::uint32_t>(pixels);
  tile.out = operands.out + (image * shape.filters + filter) * pixels;
  tile.out_stride = pixels;
  return tile;
}

// Weights times patches.
void by_patches(const Conv2dShape& shape, const Operands& operands, const Work& work,
                const Parallel& parallel) {
  constexpr std::size_t kTaskPanels = 4;
  const std::size_t panel_columns = work.kernels.columns;
  const std::size_t pixels = shape.out_height() * shape.out_width();
  const std::size_t pieces = pieces_of(pixels, panel_columns * kTaskPanels);
  const Columns columns = contiguous_columns(pixels, panel_columns);
  run(parallel, shape.batch * shape.groups * pieces, [&](std::size_t task) {
    const std::size_t group = task / pieces % shape.groups;
    const std::size_t image = task / pieces / shape.groups;
    const std::size_t channel = image * shape.channels + group * shape.group_channels();
    const float* const input = operands.input + channel * shape.height * shape.width;
    const auto panel = std::make_unique_for_overwrite<float[]>(shape.reduction() * panel_columns);
    const std::size_t begin = task % pieces * panel_columns * kTaskPanels;
    const std::size_t end = std::min(pixels, begin + panel_columns * kTaskPanels);
    for (std::size_t pixel = begin; pixel < end; pixel += panel_columns) {
      const std::size_t width = std::min(panel_columns, pixels - pixel);
      fill_patches(shape, input, pixel, width, panel_columns, panel.get());
      Tile tile = tile_of(shape, operands, image, group);
      tile.b = panel.get();
      tile.elements = columns.elements.data() + pixel;
      tile.counted = columns.counted.data() + pixel;
      tile.out += pixel;
      multiply_rows(work, tile, shape.group_filters(), width);
    }
  });
}

// Of one filter: the rows of `from`, `pitch` apart, become the output's.
void copy_rows(const Conv2dShape& shape, const float* from, std::size_t pitch, float* to) {
  for (std::size_t y = 0; y < shape.out_height(); ++y) {
    std::copy_n(from + y * pitch, shape.out_width(), to + y * shape.out_width());
  }
}

// One channel a group: the plane is read where it lies, since copying patches would be most of the
// work.
void by_planes(const Conv2dShape& shape, const Operands& operands, const Work& work,
               const Parallel& parallel) {
  const std::size_t panel_columns = work.kernels.columns;
  const PlaneLayout layout(shape, panel_columns);
  const Columns columns = layout.output_columns(panel_columns);
  run(parallel, shape.batch * shape.groups, [&](std::size_t task) {
    std::vector<float> plane(layout.size());
    layout.fill(operands.input + task * shape.height * shape.width, plane.data());
    std::vector<float> rows(columns.elements.size());
    Tile tile = tile_of(shape, operands, task / shape.groups, task % shape.groups);
    float* out = tile.out;
    for (std::size_t filter = 0; filter < shape.group_filters(); ++filter) {
      Tile part = tile;
      part.b_rows = layout.taps().data();
      part.a += filter * part.a_stride;
      part.first += static_cast<std::uint32_t>(filter) * part.row_elements;
      if (part.row_bias != nullptr) part.row_bias += filter;
      for (std::size_t column = 0; column < layout.columns(); column += panel_columns) {
        part.b = plane.data() + column;
        part.elements = columns.elements.data() + column;
        part.counted = columns.counted.data() + column;
        part.out = rows.data() + column;
        multiply_rows(work, part, 1, panel_columns);
      }
      copy_rows(shape, rows.data(), layout.pitch(), out + filter * tile.out_stride);
    }
  });
}

}  // namespace

void conv2d(const Conv2dShape& shape, const float* input, const float* weights, const float* bias,
            float* out, const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters,
            const Parallel& parallel, Level level) {
  std::atomic<std::uint64_t> overflows = 0;
  const Work work{kernels_of(level), rules_of(arithmetic, op_key), arithmetic.half_storage,
                  overflows};
  const Operands operands{input, weights, bias, out};
  if (shape.group_channels() == 1 && shape.groups > 1) {
    by_planes(shape, operands, work, parallel);
  } else {
    by_patches(shape, operands, work, parallel);
  }
  counters.overflows += overflows;
}

}  // namespace graphcore::arith
