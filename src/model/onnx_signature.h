#pragma once

#include <optional>

#include "base/result.h"
#include "model/model.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace assay {

// Our dtype of an ONNX element type; none for those that no tensor of ours can hold (text, complex,
// 4-bit).
std::optional<DType> dtype_of_onnx(int element_type);

// The other way round; every dtype of ours has one.
int onnx_of_dtype(DType dtype);

// Fills signature, input_dims, output_dims and batch of `model`. Initialisers that old files list
// among the inputs are not inputs. kInvalidArgument names every input and output that is not a
// tensor of a dtype of ours.
Status read_signature(const onnx::GraphProto& graph, ModelFile& model);

}  // namespace assay
