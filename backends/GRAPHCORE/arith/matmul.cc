#include "matmul.h"

#include <algorithm>

#include "panel.h"

namespace graphcore::arith {
namespace {

constexpr std::size_t kTaskRows = 96;  // whole tiles at every level

// One panel of b: `width` columns from `column` on, the others 0.
void pack_panel(const MatMulShape& shape, const float* b, std::size_t column, std::size_t width,
                std::size_t panel_columns, float* panel) {
  for (std::size_t i = 0; i < shape.k; ++i) {
    float* row = panel + i * panel_columns;
    for (std::size_t j = 0; j < width; ++j) {
      row[j] = shape.transpose_b ? b[(column + j) * shape.k + i] : b[i * shape.n + column + j];
    }
  }
}

std::vector<float> transposed(const MatMulShape& shape, const float* a) {
  const std::size_t matrices = shape.one_a ? 1 : shape.batch;
  std::vector<float> rows(matrices * shape.m * shape.k);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t matrix = i / (shape.m * shape.k);
    rows[i] = a[(matrix * shape.k + i % shape.k) * shape.m + i / shape.k % shape.m];
  }
  return rows;
}

// The bias filled up to whole panels.
std::vector<float> padded(const float* bias, std::size_t n, std::size_t columns) {
  std::vector<float> whole;
  if (bias == nullptr) return whole;
  whole.resize(columns);
  std::copy_n(bias, n, whole.begin());
  return whole;
}

}  // namespace

PackedMatrix pack(const MatMulShape& shape, const float* b, Level level) {
  const std::size_t panel_columns = kernels_of(level).columns;
  PackedMatrix packed{level, shape.k, shape.n, shape.one_b ? 1 : shape.batch, {}};
  const std::size_t panel_size = shape.k * panel_columns;
  packed.panels.resize(packed.matrices * pieces_of(shape.n, panel_columns) * panel_size);
  float* panel = packed.panels.data();
  for (std::size_t matrix = 0; matrix < packed.matrices; ++matrix) {
    for (std::size_t column = 0; column < shape.n; column += panel_columns, panel += panel_size) {
      pack_panel(shape, b + matrix * shape.k * shape.n, column,
                 std::min(panel_columns, shape.n - column), panel_columns, panel);
    }
  }
  return packed;
}

void matmul(const MatMulShape& shape, const float* a, const PackedMatrix& b, const float* bias,
            float* out, const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters,
            const Parallel& parallel) {
  const Kernels& kernels = kernels_of(b.level);
  std::atomic<std::uint64_t> overflows = 0;
  const Work work{kernels, rules_of(arithmetic, op_key), arithmetic.half_storage, overflows};
  const Columns columns = contiguous_columns(shape.n, kernels.columns);
  const std::vector<float> whole_bias = padded(bias, shape.n, columns.elements.size());
  std::vector<float> rows;
  if (shape.transpose_a) rows = transposed(shape, a);
  const float* const a_rows = shape.transpose_a ? rows.data() : a;

  const std::size_t panels = pieces_of(shape.n, kernels.columns);
  const std::size_t pieces = pieces_of(shape.m, kTaskRows);
  run(parallel, shape.batch * panels * pieces, [&](std::size_t task) {
    const std::size_t row = task % pieces * kTaskRows;
    const std::size_t panel = task / pieces % panels;
    const std::size_t matrix = task / pieces / panels;
    const std::size_t column = panel * kernels.columns;
    const std::size_t first_row = matrix * shape.m + row;
    Tile tile;
    tile.a = a_rows + (shape.one_a ? row : first_row) * shape.k;
    tile.a_stride = shape.k;
    tile.b = b.panels.data() +
             ((b.matrices == 1 ? 0 : matrix) * panels + panel) * shape.k * kernels.columns;
    tile.k = shape.k;
    tile.column_bias = bias != nullptr ? whole_bias.data() + column : nullptr;
    tile.first = static_cast<std::uint32_t>(first_row * shape.n);
    tile.row_elements = static_cast<std::uint32_t>(shape.n);
    tile.elements = columns.elements.data() + column;
    tile.counted = columns.counted.data() + column;
    tile.out = out + first_row * shape.n + column;
    tile.out_stride = shape.n;
    multiply_rows(work, tile, std::min(kTaskRows, shape.m - row),
                  std::min(kernels.columns, shape.n - column));
  });
  counters.overflows += overflows;
}

void matmul(const MatMulShape& shape, const float* a, const float* b, const float* bias, float* out,
            const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters,
            const Parallel& parallel, Level level) {
  matmul(shape, a, pack(shape, b, level), bias, out, arithmetic, op_key, counters, parallel);
}

}  // namespace graphcore::arith
