#pragma once

// Matrix product. Operands and results are floats; with half storage the caller has rounded the
// operands to fp16 values (round_values) and the results are such values. bias has n elements or is
// null. Element i of `out` draws by (seed, op_key, i).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arithmetic.h"
#include "level.h"

namespace graphcore::arith {

// A matrix b as the kernels of one level read it: made once for constant weights.
struct PackedMatrix {
  Level level = Level::kPlain;
  std::size_t k = 0;
  std::size_t n = 0;
  std::size_t matrices = 0;   // 1 for one_b, else batch
  std::vector<float> panels;  // [matrices][panels of n][k][columns of a panel]
};

// Expects a shape without objection.
PackedMatrix pack(const MatMulShape& shape, const float* b, Level level = usable_levels().back());

// `b` is pack(shape, ...) of a shape that differs in batch at most when one_b, and in m.
void matmul(const MatMulShape& shape, const float* a, const PackedMatrix& b, const float* bias,
            float* out, const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters,
            const Parallel& parallel = {});

void matmul(const MatMulShape& shape, const float* a, const float* b, const float* bias, float* out,
            const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters,
            const Parallel& parallel = {}, Level level = usable_levels().back());

}  // namespace graphcore::arith
