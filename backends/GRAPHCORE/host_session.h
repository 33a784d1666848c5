#pragma once

// ONNX Runtime's part: it folds the user's graph, tells what its tensors are, and walks the chip's.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "ipu_operators.h"
#include "onnx_model.h"
#include "tensor_fact.h"

namespace graphcore {

using cpu::OnnxRuntime;

// One run's inputs, zeros or samples, and their memory.
struct TrialInputs {
  std::vector<std::string> names;
  std::vector<std::vector<std::byte>> storage;
  std::vector<Ort::Value> values;
};

// The model at `path` with what depends on constants alone computed: weights stored in 8 bits
// become float. `scratch` is a file that may be written and is removed again.
onnx::ModelProto folded_model(const std::string& path, const std::string& scratch);

// Every tensor's type and shape in a run at `batch`, of zeros. Free dimensions besides the batch
// are as the model info says, else 8.
TensorFacts tensor_facts(const onnx::ModelProto& model, const assay::backend::Document& configs,
                         std::int64_t batch);

// A session over the bytes of a model; `operators` may be nullptr.
Ort::Session make_session(OnnxRuntime& runtime, const std::string& bytes, IpuOperators* operators,
                          int threads);

// The axis of `input` along which samples lie, or -1 when it has none; from the model info.
std::int64_t batch_axis_of(const assay::backend::Document& configs, const std::string& input,
                           std::size_t rank);

}  // namespace graphcore
