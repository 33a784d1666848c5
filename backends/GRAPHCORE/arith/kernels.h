#pragma once

// The inner loops, once for each level of instructions.

#include <cstddef>
#include <cstdint>

#include "arithmetic.h"
#include "draws.h"
#include "level.h"

namespace graphcore::arith {

// Arithmetic, as the loops use it.
struct Rules {
  bool half_partials = false;
  bool stochastic = false;
  bool nan_on_overflow = false;
  DrawKeys keys;
};

Rules rules_of(const Arithmetic& arithmetic, std::uint64_t op_key);

// A piece of an output: some rows of as many columns as the level's kernel takes at a time.
struct Tile {
  const float* a = nullptr;  // row r, product i at r * a_stride + i
  std::size_t a_stride = 0;
  const float* b = nullptr;                // product i of all columns from b_rows[i] on, or
  const std::ptrdiff_t* b_rows = nullptr;  // when null from i * columns on
  std::size_t k = 0;
  std::size_t rows = 1;
  const float* row_bias = nullptr;
  const float* column_bias = nullptr;
  // Column c of row r is the output's element first + r * row_elements + elements[c].
  std::uint32_t first = 0;
  std::uint32_t row_elements = 0;
  const std::uint32_t* elements = nullptr;
  const std::uint32_t* counted = nullptr;  // all bits set where a column is one of the output's
  float* out = nullptr;                    // row r from r * out_stride on
  std::size_t out_stride = 0;
};

struct Kernels {
  std::size_t rows;     // of a tile at most
  std::size_t columns;  // of every tile
  // Both return the overflows.
  std::uint64_t (*multiply_half)(const Tile&, const Rules&);
  std::uint64_t (*multiply_float)(const Tile&, const Rules&);
  std::uint64_t (*round_values)(const float*, float*, std::size_t, const Rules&, std::uint32_t);
  std::uint64_t (*round_to_half)(const float*, std::uint16_t*, std::size_t, const Rules&,
                                 std::uint32_t);
  void (*half_to_float)(const std::uint16_t*, float*, std::size_t);
};

const Kernels& kernels_of(Level level);

// kernel_LEVEL.cc; only where the architecture has them.
const Kernels& plain_kernels();
const Kernels& f16c_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();

}  // namespace graphcore::arith
