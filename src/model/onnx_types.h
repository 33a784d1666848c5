#pragma once

// Element types inside an ONNX graph, told without a runtime, and which operators can round.

#include <string>
#include <unordered_map>

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace assay {

// onnx::TensorProto::DataType by tensor name. A name that is not here has no known type, or is no
// tensor.
using ElementTypes = std::unordered_map<std::string, int>;

// The types that `graph` declares, and those that follow from them by the rules of the operators of
// ai.onnx and the usual ones of com.microsoft. `around` is what a sub-graph sees of its outer
// graphs. Other operators' outputs are known only when they are declared.
ElementTypes infer_element_types(const onnx::GraphProto& graph, ElementTypes around = {});

// Can the outputs of `node` be off by rounding? Not when it only moves, selects or compares values,
// widens them, or flips their signs. Operators of no known rule can.
bool can_round(const onnx::NodeProto& node, const ElementTypes& types);

// FLOAT, DOUBLE, FLOAT16 or BFLOAT16.
bool is_wide_float(int element_type);

}  // namespace assay
