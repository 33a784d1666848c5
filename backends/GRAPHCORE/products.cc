#include "products.h"

#include <string>
#include <vector>

#include "lower.h"

namespace graphcore {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

const AttributeProto* find(const NodeProto& node, const std::string& name) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::int64_t integer(const NodeProto& node, const std::string& name, std::int64_t fallback) {
  const AttributeProto* const attribute = find(node, name);
  return attribute != nullptr ? attribute->i() : fallback;
}

float number(const NodeProto& node, const std::string& name, float fallback) {
  const AttributeProto* const attribute = find(node, name);
  return attribute != nullptr ? attribute->f() : fallback;
}

std::vector<std::int64_t> integers(const NodeProto& node, const std::string& name,
                                   std::vector<std::int64_t> fallback) {
  const AttributeProto* const attribute = find(node, name);
  if (attribute == nullptr) return fallback;
  return {attribute->ints().begin(), attribute->ints().end()};
}

void set(NodeProto& node, const std::string& name, std::int64_t value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

void set(NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

NodeProto made(const NodeProto& from, const char* op) {
  NodeProto node;
  node.set_op_type(op);
  node.set_domain(kDomain);
  node.set_name(from.name());
  *node.mutable_input() = from.input();
  *node.mutable_output() = from.output();
  return node;
}

// 0: as pads say, 1: SAME_UPPER, 2: SAME_LOWER, 3: VALID.
std::int64_t auto_pad(const NodeProto& node) {
  const AttributeProto* const attribute = find(node, "auto_pad");
  if (attribute == nullptr || attribute->s() == "NOTSET") return 0;
  if (attribute->s() == "SAME_UPPER") return 1;
  return attribute->s() == "SAME_LOWER" ? 2 : 3;
}

}  // namespace

const TensorFact* Products::fact(const NodeProto& node, int input) const {
  if (input >= node.input_size()) return nullptr;
  const auto found = facts_->find(node.input(input));
  return found != facts_->end() ? &found->second : nullptr;
}

std::optional<NodeProto> Products::as_product(const NodeProto& node) const {
  const TensorFact* const a = fact(node, 0);
  const TensorFact* const b = fact(node, 1);
  if (a == nullptr || b == nullptr || !is_float(a->type)) return std::nullopt;
  if (node.op_type() == "MatMul") return matmul(node);
  if (node.op_type() == "Gemm") return gemm(node);
  if (node.op_type() == "Conv") return conv(node);
  return std::nullopt;
}

std::optional<NodeProto> Products::matmul(const NodeProto& node) const {
  if (fact(node, 0)->shape.size() < 2 || fact(node, 1)->shape.size() < 2) return std::nullopt;
  NodeProto product = made(node, kMatMulOperator);
  set(product, "trans_a", 0);
  set(product, "trans_b", 0);
  return product;
}

std::optional<NodeProto> Products::gemm(const NodeProto& node) const {
  if (number(node, "alpha", 1) != 1 || number(node, "beta", 1) != 1) return std::nullopt;
  const std::int64_t trans_b = integer(node, "transB", 0);
  if (const TensorFact* const bias = fact(node, 2)) {
    const std::int64_t n = fact(node, 1)->shape[trans_b != 0 ? 0 : 1];
    std::int64_t count = 1;
    for (const std::int64_t dim : bias->shape) count *= dim;
    if (bias->shape.empty() || bias->shape.back() != n || count != n) return std::nullopt;
  }
  NodeProto product = made(node, kMatMulOperator);
  set(product, "trans_a", integer(node, "transA", 0));
  set(product, "trans_b", trans_b);
  return product;
}

std::optional<NodeProto> Products::conv(const NodeProto& node) const {
  if (fact(node, 0)->shape.size() != 4) return std::nullopt;
  NodeProto product = made(node, kConvOperator);
  set(product, "strides", integers(node, "strides", {1, 1}));
  set(product, "dilations", integers(node, "dilations", {1, 1}));
  set(product, "pads", integers(node, "pads", {0, 0, 0, 0}));
  set(product, "auto_pad", auto_pad(node));
  set(product, "group", integer(node, "group", 1));
  return product;
}

}  // namespace graphcore
