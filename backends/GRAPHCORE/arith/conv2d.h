#pragma once

// Convolution over images. Operands and results are floats; with half storage the caller has
// rounded the operands to fp16 values (round_values) and the results are such values. bias has an
// element a filter or is null. Element i of `out` draws by (seed, op_key, i). Weights are read as
// ONNX lays them out: there is nothing to pack.

#include <cstddef>
#include <cstdint>

#include "arithmetic.h"
#include "level.h"

namespace graphcore::arith {

// Expects a shape without objection.
void conv2d(const Conv2dShape& shape, const float* input, const float* weights, const float* bias,
            float* out, const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters,
            const Parallel& parallel = {}, Level level = usable_levels().back());

}  // namespace graphcore::arith
