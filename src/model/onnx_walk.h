#pragma once

// Visits every part of an ONNX model that nests: sub-graphs in attributes, and model functions.

#include <functional>
#include <string>
#include <vector>

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

// As above, and `visit` may change them.
void for_each_tensor(onnx::ModelProto& model, const std::function<void(onnx::TensorProto&)>& visit);

// Names that the sub-graphs of `node` take from around it, each once, in the order of their use.
std::vector<std::string> captured_names(const onnx::NodeProto& node);

// What `node` reads: its inputs without the omitted ones, then captured_names.
std::vector<std::string> names_read(const onnx::NodeProto& node);

}  // namespace assay
