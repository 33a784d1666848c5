#include "model/onnx_walk.h"

#include <onnx/onnx-ml.pb.h>

namespace assay {
namespace {

// What to do on the way; either may be empty.
struct Visitor {
  std::function<void(const onnx::NodeProto&)> node;
  std::function<void(const onnx::TensorProto&)> tensor;
};

void walk(const onnx::GraphProto& graph, const Visitor& visitor);

void walk(const onnx::TensorProto& tensor, const Visitor& visitor) {
  if (visitor.tensor) visitor.tensor(tensor);
}

void walk(const onnx::SparseTensorProto& sparse, const Visitor& visitor) {
  walk(sparse.values(), visitor);
  walk(sparse.indices(), visitor);
}

void walk(const onnx::AttributeProto& attribute, const Visitor& visitor) {
  if (attribute.has_t()) walk(attribute.t(), visitor);
  if (attribute.has_g()) walk(attribute.g(), visitor);
  if (attribute.has_sparse_tensor()) walk(attribute.sparse_tensor(), visitor);
  for (const auto& tensor : attribute.tensors()) walk(tensor, visitor);
  for (const auto& graph : attribute.graphs()) walk(graph, visitor);
  for (const auto& sparse : attribute.sparse_tensors()) walk(sparse, visitor);
}

template <typename Nodes>
void walk_nodes(const Nodes& nodes, const Visitor& visitor) {
  for (const onnx::NodeProto& node : nodes) {
    if (visitor.node) visitor.node(node);
    for (const onnx::AttributeProto& attribute : node.attribute()) walk(attribute, visitor);
  }
}

// Recursion ends: protobuf refuses files that nest deeper than 100 messages.
void walk(const onnx::GraphProto& graph, const Visitor& visitor) {
  for (const auto& tensor : graph.initializer()) walk(tensor, visitor);
  for (const auto& sparse : graph.sparse_initializer()) walk(sparse, visitor);
  walk_nodes(graph.node(), visitor);
}

void walk(const onnx::ModelProto& model, const Visitor& visitor) {
  walk(model.graph(), visitor);
  for (const onnx::FunctionProto& function : model.functions()) {
    walk_nodes(function.node(), visitor);
  }
}

}  // namespace

void for_each_node(const onnx::ModelProto& model,
                   const std::function<void(const onnx::NodeProto&)>& visit) {
  walk(model, {visit, nullptr});
}

void for_each_tensor(const onnx::ModelProto& model,
                     const std::function<void(const onnx::TensorProto&)>& visit) {
  walk(model, {nullptr, visit});
}

}  // namespace assay
