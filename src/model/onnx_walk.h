#pragma once

// Visits every part of an ONNX model that nests: sub-graphs in attributes, and model functions.

#include <functional>

namespace onnx {
class AttributeProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace assay {

// Every node, outer ones first.
void for_each_node(const onnx::ModelProto& model,
                   const std::function<void(const onnx::NodeProto&)>& visit);

// Every tensor that holds data: initialisers, sparse ones' values and indices, attributes.
void for_each_tensor(const onnx::ModelProto& model,
                     const std::function<void(const onnx::TensorProto&)>& visit);

}  // namespace assay
