#include "model/onnx_walk.h"

#include <onnx/onnx-ml.pb.h>

#include <set>
#include <utility>

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

// Collects names that a graph uses and does not make.
class FreeNames {
 public:
  void add(const onnx::GraphProto& graph, const std::set<std::string>& made_around) {
    std::set<std::string> made = made_around;
    for (const auto& input : graph.input()) made.insert(input.name());
    for (const auto& tensor : graph.initializer()) made.insert(tensor.name());
    for (const auto& sparse : graph.sparse_initializer()) made.insert(sparse.values().name());
    for (const auto& node : graph.node()) {
      for (const std::string& input : node.input()) use(input, made);
      add(node, made);
      made.insert(node.output().begin(), node.output().end());
    }
    for (const auto& output : graph.output()) use(output.name(), made);
  }
  void add(const onnx::NodeProto& node, const std::set<std::string>& made) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add(attribute.g(), made);
      for (const auto& graph : attribute.graphs()) add(graph, made);
    }
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  void use(const std::string& name, const std::set<std::string>& made) {
    if (name.empty() || made.contains(name) || !seen_.insert(name).second) return;
    names_.push_back(name);
  }

  std::vector<std::string> names_;
  std::set<std::string> seen_;
};

}  // namespace

void for_each_node(const onnx::ModelProto& model,
                   const std::function<void(const onnx::NodeProto&)>& visit) {
  walk(model, {visit, nullptr});
}

void for_each_tensor(const onnx::ModelProto& model,
                     const std::function<void(const onnx::TensorProto&)>& visit) {
  walk(model, {nullptr, visit});
}

void for_each_tensor(onnx::ModelProto& model,
                     const std::function<void(onnx::TensorProto&)>& visit) {
  // The caller's model may be changed, so its parts may be.
  walk(model, {nullptr, [&visit](const onnx::TensorProto& tensor) {
                 visit(const_cast<onnx::TensorProto&>(tensor));
               }});
}

std::vector<std::string> captured_names(const onnx::NodeProto& node) {
  FreeNames names;
  names.add(node, {});
  return names.take();
}

std::vector<std::string> names_read(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  for (const std::string& input : node.input()) {
    if (!input.empty()) names.push_back(input);
  }
  for (std::string& name : captured_names(node)) names.push_back(std::move(name));
  return names;
}

}  // namespace assay
