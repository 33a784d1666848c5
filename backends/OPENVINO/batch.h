#pragma once

// The batch of a model: where it is, whether it is free, and a model for one batch size.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <openvino/core/model.hpp>
#include <string>
#include <vector>

#include "assay/backend.hpp"

namespace openvino {

// The batch dimension of one input.
struct BatchAxis {
  std::size_t input = 0;
  std::string name;  // of the input
  std::size_t axis = 0;
  std::int64_t rows = 1;  // that one sample takes there, at least 1
  std::int64_t dim = -1;  // in the model, -1: free
};

// By the model info's batch_axes and input_shape, by default axis 0 and one row a sample. Inputs
// that are not batched (batch_axes null, or a scalar) are left out.
std::vector<BatchAxis> batch_axes_of(const std::vector<assay::backend::TensorSpec>& inputs,
                                     const assay::backend::Document& configs);

// Why a model with these axes cannot take `batch_size` samples as it stands, or "".
std::string batch_objection(const std::vector<BatchAxis>& axes, std::int64_t batch_size);

// The one batch size that a model of fixed batch takes as it stands; 0 when the batch is free.
std::int64_t fixed_batch(const std::vector<BatchAxis>& axes);

// A copy of `model` for `batch_size` samples; other free dimensions stay free. Throws ov::Exception
// when OpenVINO finds that the model does not hold together then.
std::shared_ptr<ov::Model> with_batch(const ov::Model& model, const std::vector<BatchAxis>& axes,
                                      std::int64_t batch_size);

}  // namespace openvino
