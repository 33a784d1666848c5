#pragma once

// The model as the user has it, in any format that OpenVINO reads.

#include <memory>
#include <openvino/core/model.hpp>
#include <string>
#include <vector>

#include "assay/backend.hpp"

namespace openvino {

// Reads model_info.model_path by model_info.model_format: onnx, ir, saved_model, tflite.
//   ASSAY_NOT_FOUND         the model, or a file that belongs to it, is missing
//   ASSAY_INVALID_ARGUMENT  a folder where a file is wanted or the other way round; not a model of
//                           this format
//   ASSAY_UNIMPLEMENTED     another format; an operator that OpenVINO has not got
std::shared_ptr<ov::Model> read_source(const assay::backend::Document& configs);

// Inputs and outputs by position, under the names of the model info where it names them. Throws
// ASSAY_UNIMPLEMENTED for element types that cannot cross the boundary.
assay::backend::Signature signature_of(const ov::Model& model,
                                       const assay::backend::Document& configs);

}  // namespace openvino
