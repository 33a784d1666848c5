#include "model/onnx_order.h"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <utility>

#include "model/onnx_walk.h"

namespace assay {
namespace {

// "operator 3 (Conv, "stem/conv")".
std::string name_of(const onnx::NodeProto& node, std::int64_t index) {
  return fmt::format("operator {} ({}, \"{}\")", index, node.op_type(), node.name());
}

// Nothing else has inputs of its own making.
bool is_random(const std::string& op) {
  return op.starts_with("Random") || op == "Bernoulli" || op == "Multinomial";
}

std::vector<std::string> named_outputs(const onnx::NodeProto& node) {
  std::vector<std::string> names;
  for (const std::string& output : node.output()) {
    if (!output.empty()) names.push_back(output);
  }
  return names;
}

}  // namespace

Result<OperatorOrder> OperatorOrder::of(const onnx::GraphProto& graph) {
  OperatorOrder order;
  for (const auto& tensor : graph.initializer()) order.initializers_.insert(tensor.name());
  for (const auto& sparse : graph.sparse_initializer()) {
    order.initializers_.insert(sparse.values().name());
  }
  for (const auto& input : graph.input()) {
    if (!order.initializer(input.name())) order.inputs_.insert(input.name());
  }
  RETURN_IF_ERROR(order.add_operators(graph));
  order.mark_used(graph);
  order.find_last_readers(graph);
  return order;
}

std::int64_t OperatorOrder::maker(const std::string& name) const {
  const auto found = makers_.find(name);
  return found == makers_.end() ? -1 : found->second;
}

std::int64_t OperatorOrder::last_reader(const std::string& name) const {
  const auto found = last_readers_.find(name);
  return found == last_readers_.end() ? -1 : found->second;
}

bool OperatorOrder::is_constant(const std::string& name) const {
  const std::int64_t made_by = maker(name);
  return made_by >= 0 ? constant(made_by) : initializer(name);
}

Status OperatorOrder::add_operators(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    Operator one{names_read(node), named_outputs(node), !is_random(node.op_type()), false};
    for (const std::string& name : one.reads) {
      if (maker(name) < 0 && !initializer(name) && !inputs_.contains(name)) {
        return data_loss(fmt::format("{} reads \"{}\", which nothing before it makes",
                                     name_of(node, size()), name));
      }
      one.constant = one.constant && is_constant(name);
    }
    for (const std::string& name : one.makes) {
      if (!makers_.emplace(name, size()).second) {
        return data_loss(fmt::format("{} makes \"{}\", which operator {} makes already",
                                     name_of(node, size()), name, maker(name)));
      }
    }
    operators_.push_back(std::move(one));
  }
  return ok_status();
}

void OperatorOrder::mark_used(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> wanted;
  for (const auto& output : graph.output()) wanted.insert(output.name());
  for (auto one = operators_.rbegin(); one != operators_.rend(); ++one) {
    one->used = std::any_of(one->makes.begin(), one->makes.end(),
                            [&](const std::string& name) { return wanted.contains(name); });
    if (one->used) wanted.insert(one->reads.begin(), one->reads.end());
  }
}

void OperatorOrder::find_last_readers(const onnx::GraphProto& graph) {
  for (std::int64_t i = 0; i < size(); ++i) {
    if (!used(i) || constant(i)) continue;
    for (const std::string& name : reads(i)) last_readers_[name] = i;
  }
  for (const auto& output : graph.output()) last_readers_[output.name()] = size();
}

}  // namespace assay
