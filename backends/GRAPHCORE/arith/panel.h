#pragma once

// What matmul and conv2d share: the rows of an output over one panel, a kernel's width of columns.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace graphcore::arith {

constexpr std::size_t pieces_of(std::size_t n, std::size_t piece) {
  return (n + piece - 1) / piece;
}

// For each column of a row of `columns`, filled up to whole panels: its element, and whether it is
// one of the output's.
struct Columns {
  std::vector<std::uint32_t> elements;
  std::vector<std::uint32_t> counted;
};

Columns contiguous_columns(std::size_t columns, std::size_t panel_columns);

struct Work {
  const Kernels& kernels;
  Rules rules;
  bool half;
  std::atomic<std::uint64_t>& overflows;
};

// Computes `rows` rows of `tile`, as many at a time as the kernel takes. tile.out is the output's
// first element of the panel, of which `width` columns are written.
void multiply_rows(const Work& work, Tile tile, std::size_t rows, std::size_t width);

void run(const Parallel& parallel, std::size_t tasks, const std::function<void(std::size_t)>& task);

}  // namespace graphcore::arith
