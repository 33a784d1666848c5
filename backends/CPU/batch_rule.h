#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/backend.hpp"

namespace cpu {

// Why a model with these inputs cannot take `batch_size` samples at once, or "" when it can: an
// input's batch dimension is fixed at another size. The batch axis of each input, and its size at
// batch 1, are the model info's (batch_axes, input_shape), by default axis 0 of size 1.
std::string batch_objection(const std::vector<assay::backend::TensorSpec>& inputs,
                            const assay::backend::Document& configs, std::int64_t batch_size);

// Size of `input` along its batch axis at batch 1: at least 1.
std::int64_t samples_dim(const assay::backend::Document& configs, const std::string& input,
                         std::int64_t axis);

// The batch axis of `input`, or -1 when it is not batched (batch_axes null, or a scalar).
std::int64_t batch_axis(const assay::backend::Document& configs,
                        const assay::backend::TensorSpec& input);

// The one batch size that a model of fixed batch takes; 0 when the batch is free.
std::int64_t fixed_batch(const std::vector<assay::backend::TensorSpec>& inputs,
                         const assay::backend::Document& configs);

}  // namespace cpu
