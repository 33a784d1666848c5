#include "panel.h"

#include <algorithm>
#include <numeric>

namespace graphcore::arith {
namespace {

constexpr std::size_t kMostTileElements = std::size_t{8} * 64;

std::uint64_t multiply(const Work& work, const Tile& tile) {
  return work.half ? work.kernels.multiply_half(tile, work.rules)
                   : work.kernels.multiply_float(tile, work.rules);
}

// The kernel writes whole tiles; of these only `width` columns belong to the output.
std::uint64_t multiply_narrow(const Work& work, Tile tile, std::size_t width) {
  float whole[kMostTileElements];
  float* const out = tile.out;
  const std::size_t stride = tile.out_stride;
  tile.out = whole;
  tile.out_stride = work.kernels.columns;
  const std::uint64_t overflows = multiply(work, tile);
  for (std::size_t r = 0; r < tile.rows; ++r) {
    std::copy_n(whole + r * tile.out_stride, width, out + r * stride);
  }
  return overflows;
}

}  // namespace

Columns contiguous_columns(std::size_t columns, std::size_t panel_columns) {
  Columns made;
  made.elements.resize(pieces_of(columns, panel_columns) * panel_columns);
  std::iota(made.elements.begin(), made.elements.end(), 0U);
  made.counted.resize(made.elements.size());
  std::fill_n(made.counted.begin(), columns, ~0U);
  return made;
}

void multiply_rows(const Work& work, Tile tile, std::size_t rows, std::size_t width) {
  std::uint64_t overflows = 0;
  for (std::size_t row = 0; row < rows; row += tile.rows) {
    tile.rows = std::min(work.kernels.rows, rows - row);
    overflows +=
        width == work.kernels.columns ? multiply(work, tile) : multiply_narrow(work, tile, width);
    tile.a += tile.rows * tile.a_stride;
    tile.out += tile.rows * tile.out_stride;
    tile.first += static_cast<std::uint32_t>(tile.rows) * tile.row_elements;
    if (tile.row_bias != nullptr) tile.row_bias += tile.rows;
  }
  if (overflows > 0) work.overflows.fetch_add(overflows, std::memory_order_relaxed);
}

void run(const Parallel& parallel, std::size_t tasks,
         const std::function<void(std::size_t)>& task) {
  if (parallel && tasks > 1) {
    parallel(tasks, task);
    return;
  }
  for (std::size_t i = 0; i < tasks; ++i) task(i);
}

}  // namespace graphcore::arith
