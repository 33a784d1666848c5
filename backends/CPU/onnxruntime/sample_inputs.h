#pragma once

#include <cstddef>
#include <vector>

#include "assay/backend.hpp"
#include "onnxruntime/ort.h"
#include "onnxruntime/session.h"

namespace cpu {

// The inputs of one run outside measurement.
struct SampleInputs {
  std::vector<std::vector<std::byte>> storage;  // behind `values`, when they are ours
  std::vector<Ort::Value> values;
};

// Samples of the data set when there are some that fit the session (valid until the loader's next
// read), else zeros. Two samples where the batch is free, so that a batch dimension and a 1 can be
// told apart.
SampleInputs sample_inputs(const OnnxSession& session, const assay::backend::Document& configs,
                           assay::backend::DataLoader& data);

// Zeros, which every index and every mask may be. Free dimensions are as the model info says, else
// 8, the same for the same name.
SampleInputs zero_inputs(const OnnxSession& session, const assay::backend::Document& configs);

}  // namespace cpu
