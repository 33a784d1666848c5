#include "lower.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "assay/backend.hpp"
#include "device_state.h"
#include "products.h"
#include "round.h"

namespace graphcore {
namespace {

using assay::backend::Error;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;

constexpr std::array<std::string_view, 9> kEightBit = {
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
    "QLinearConv",    "QLinearMatMul",    "ConvInteger",
    "MatMulInteger",  "QLinearAdd",       "QGemm"};
// Their results are values of their inputs: rounded already.
constexpr std::array<std::string_view, 30> kMoves = {"Relu",
                                                     "MaxPool",
                                                     "Reshape",
                                                     "Transpose",
                                                     "Concat",
                                                     "Slice",
                                                     "Gather",
                                                     "Squeeze",
                                                     "Identity",
                                                     "Flatten",
                                                     "Max",
                                                     "Min",
                                                     "Neg",
                                                     "Abs",
                                                     "Split",
                                                     "Expand",
                                                     "Tile",
                                                     "Where",
                                                     "Unsqueeze",
                                                     "GatherND",
                                                     "ScatterND",
                                                     "Dropout",
                                                     "DepthToSpace",
                                                     "SpaceToDepth",
                                                     "ReduceMax",
                                                     "ReduceMin",
                                                     "GlobalMaxPool",
                                                     "GatherElements",
                                                     "ScatterElements",
                                                     "Sign"};

template <std::size_t n>
bool contains(const std::array<std::string_view, n>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

std::string label(const NodeProto& node) {
  std::string text = node.op_type();
  if (!node.name().empty()) text += " \"" + node.name() + "\"";
  return text;
}

class Lowering {
 public:
  Lowering(const ModelProto& model, const TensorFacts& facts, const Options& options)
      : options_(options), facts_(facts), products_(facts) {
    lowered_.model = model;
    lowered_.model.clear_metadata_props();
    lowered_.model.clear_doc_string();
    lowered_.model.set_producer_name("assay");
    lowered_.model.clear_producer_version();
  }

  Lowered run() {
    GraphProto& graph = *lowered_.model.mutable_graph();
    graph.clear_value_info();
    graph.clear_doc_string();
    const GraphProto source = graph;
    graph.clear_node();
    lower_inputs(source, graph);
    lower_nodes(source, graph);
    lower_weights(graph);
    lower_outputs(source, graph);
    add_seed(graph);
    add_domain();
    return std::move(lowered_);
  }

 private:
  int type_of(const std::string& tensor) const {
    const auto found = facts_.find(tensor);
    return found != facts_.end() ? found->second.type : 0;
  }

  bool stays_fp32(const NodeProto& node) const {
    return !options_.half() || std::find(options_.stay_fp32.begin(), options_.stay_fp32.end(),
                                         node.op_type()) != options_.stay_fp32.end();
  }

  // What the chip holds a tensor of this type in.
  int device_type(int type, bool half) const {
    if (is_float(type)) return half ? TensorProto::FLOAT16 : TensorProto::FLOAT;
    return type == TensorProto::INT64 ? TensorProto::INT32 : type;
  }

  // The name under which consumers find `tensor`.
  std::string now(const std::string& tensor) const {
    const auto found = renamed_.find(tensor);
    return found != renamed_.end() ? found->second : tensor;
  }

  void add_cast(GraphProto& graph, const std::string& from, const std::string& to, int type) {
    NodeProto& cast = *graph.add_node();
    cast.set_op_type("Cast");
    cast.set_name(to + ".cast");
    cast.add_input(from);
    cast.add_output(to);
    auto& attribute = *cast.add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(type);
  }

  void add_rounding(GraphProto& graph, const std::string& op, const std::string& from,
                    const std::string& to, const std::string& tensor) {
    NodeProto& round = *graph.add_node();
    round.set_op_type(kRoundOperator);
    round.set_domain(kDomain);
    round.set_name(tensor + ".round");
    round.add_input(from);
    if (options_.rounds_randomly()) round.add_input(kSeedInput);
    round.add_output(to);
    add_site(round, op, tensor);
  }

  void add_site(NodeProto& node, const std::string& op, const std::string& tensor) {
    auto& attribute = *node.add_attribute();
    attribute.set_name("site");
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(static_cast<std::int64_t>(lowered_.sites.size()));
    lowered_.sites.push_back({op, tensor});
  }

  void lower_inputs(const GraphProto& source, GraphProto& graph) {
    std::set<std::string> constants;
    for (const TensorProto& tensor : source.initializer()) constants.insert(tensor.name());
    graph.clear_input();
    for (const auto& input : source.input()) {
      if (constants.count(input.name()) > 0) continue;  // old files list their weights too
      *graph.add_input() = input;
      lower_input(input.name(), graph);
    }
  }

  void lower_input(const std::string& name, GraphProto& graph) {
    const int type = type_of(name);
    Anchor anchor;
    anchor.name = name;
    anchor.handle = "h2d_" + std::to_string(lowered_.anchors.size());
    anchor.host_type = type;
    anchor.device_type = device_type(type, options_.half());
    std::string current = name;
    if (is_float(type) && type != TensorProto::FLOAT) {
      add_cast(graph, name, name + ".fp32", TensorProto::FLOAT);
      current = name + ".fp32";
    }
    if (is_float(type) && options_.half() && type != TensorProto::FLOAT16) {
      add_rounding(graph, "Input", current, name + ".fp16", name);
      current = name + ".fp16";
    }
    if (current != name) renamed_[name] = current;
    if (anchor.device_type != type) {
      anchor.adaptation = type_name(type) + " to " + type_name(anchor.device_type) +
                          (type == TensorProto::INT64 ? ", each value checked" : "") +
                          ", once, on entry";
    }
    lowered_.types[name] = anchor.device_type;
    lowered_.anchors.push_back(std::move(anchor));
  }

  void lower_nodes(const GraphProto& source, GraphProto& graph) {
    for (const NodeProto& node : source.node()) {
      NodeProto changed = node;
      for (std::string& input : *changed.mutable_input()) input = now(input);
      rewrite_types(changed);
      lower_node(node, std::move(changed), graph);
    }
  }

  // Attributes that name a type: the executor holds every float tensor as fp32 values.
  void rewrite_types(NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      const bool names_type =
          (attribute.name() == "to" && node.op_type() == "Cast") || attribute.name() == "dtype";
      if (names_type) {
        const int type = static_cast<int>(attribute.i());
        const int device = device_type(type, !stays_fp32(node));
        if (device == type) continue;
        lowered_.notes.push_back(label(node) + ": " + attribute.name() + " " + type_name(type) +
                                 " became " + type_name(device));
        if (is_float(type)) attribute.set_i(TensorProto::FLOAT);
      } else if (attribute.has_t() && is_float(attribute.t().data_type())) {
        *attribute.mutable_t() = float_tensor(attribute.t(), float_values(attribute.t()));
      }
    }
  }

  void lower_node(const NodeProto& source, NodeProto changed, GraphProto& graph) {
    if (const auto product = products_.as_product(source)) {
      lower_product(source, *product, graph);
      return;
    }
    const bool stays = stays_fp32(source);
    const bool moves = contains(kMoves, source.op_type());
    std::vector<std::pair<std::string, std::string>> rounded;  // from, to
    for (std::string& output : *changed.mutable_output()) {
      const bool floats = is_float(type_of(output));
      const bool half = floats && (moves ? any_half(source) : !stays);
      lowered_.types[output] = floats ? (half ? TensorProto::FLOAT16 : TensorProto::FLOAT)
                                      : device_type(type_of(output), false);
      if (!half || moves) continue;
      rounded.emplace_back(output + ".fp32", output);
      output += ".fp32";
    }
    if (stays && options_.half() && has_float(source)) {
      lowered_.notes.push_back(label(source) + ": stays fp32");
      for (const std::string& input : source.input()) fp32_consumers_.insert(input);
    } else {
      for (const std::string& input : source.input()) half_consumers_.insert(input);
    }
    *graph.add_node() = std::move(changed);
    for (const auto& [from, to] : rounded) add_rounding(graph, source.op_type(), from, to, to);
  }

  // Products and convolutions are the chip's own: they round their results themselves.
  void lower_product(const NodeProto& source, NodeProto product, GraphProto& graph) {
    for (int i = 0; i < product.input_size(); ++i) {
      const std::string name = product.input(i);
      product.set_input(i, now(name));
      if (!name.empty() && i < 2) round_operand(name, i, product, graph);
      half_consumers_.insert(name);
    }
    if (options_.rounds_randomly()) {
      while (product.input_size() < 3) product.add_input("");
      product.add_input(kSeedInput);
    }
    add_site(product, source.op_type(), source.output(0));
    lowered_.types[source.output(0)] = options_.half() ? TensorProto::FLOAT16 : TensorProto::FLOAT;
    *graph.add_node() = std::move(product);
  }

  // What an operator left in fp32 is rounded before the multiplier, which takes fp16 alone.
  void round_operand(const std::string& name, int index, NodeProto& product, GraphProto& graph) {
    const auto found = lowered_.types.find(name);
    if (!options_.half() || found == lowered_.types.end() || found->second != TensorProto::FLOAT) {
      return;
    }
    const std::string rounded = product.output(0) + ".operand" + std::to_string(index);
    add_rounding(graph, product.op_type(), now(name), rounded, rounded);
    lowered_.types[rounded] = TensorProto::FLOAT16;
    product.set_input(index, rounded);
  }

  bool has_float(const NodeProto& node) const {
    return std::any_of(node.output().begin(), node.output().end(),
                       [&](const std::string& name) { return is_float(type_of(name)); });
  }

  // A result that moves values is fp16 when every float it moves is.
  bool any_half(const NodeProto& node) const {
    if (!options_.half()) return false;
    for (const std::string& input : node.input()) {
      const auto found = lowered_.types.find(input);
      if (found != lowered_.types.end() && found->second == TensorProto::FLOAT) return false;
    }
    return true;
  }

  void lower_weights(GraphProto& graph) {
    for (TensorProto& tensor : *graph.mutable_initializer()) {
      if (is_float(tensor.data_type())) {
        lower_float_weight(tensor);
      } else if (tensor.data_type() == TensorProto::INT64) {
        check_range(tensor);
        lowered_.types[tensor.name()] = TensorProto::INT32;
      } else {
        lowered_.types[tensor.name()] = tensor.data_type();
      }
    }
  }

  void lower_float_weight(TensorProto& tensor) {
    std::vector<float> values = float_values(tensor);
    const bool only_fp32 =
        fp32_consumers_.count(tensor.name()) > 0 && half_consumers_.count(tensor.name()) == 0;
    const bool half = options_.half() && !only_fp32;
    if (half) {
      arith::Counters counters;
      // Weights are rounded once, before the chip has them: to nearest always.
      arith::round_values(values.data(), values.data(), values.size(), weight_arithmetic(options_),
                          0, counters);
      const std::uint64_t saturated_count = counters.overflows;
      if (saturated_count > 0) {
        lowered_.saturated_weights += saturated_count;
        lowered_.notes.push_back("constant \"" + tensor.name() + "\": " +
                                 std::to_string(saturated_count) + " values do not fit into fp16");
      }
    }
    lowered_.types[tensor.name()] = half ? TensorProto::FLOAT16 : TensorProto::FLOAT;
    tensor = float_tensor(tensor, values);
  }

  static void check_range(const TensorProto& tensor) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
    for (const std::int64_t value : integer_values(tensor)) {
      // Slices say "to the end" by the largest numbers there are.
      if (value == kMost || value == kLeast || value == kLeast + 1) continue;
      if (value >= std::numeric_limits<std::int32_t>::min() &&
          value <= std::numeric_limits<std::int32_t>::max()) {
        continue;
      }
      throw Error(ASSAY_OUT_OF_RANGE, "constant \"" + tensor.name() + "\": found " +
                                          std::to_string(value) +
                                          ", the IPU has 32-bit integers only");
    }
  }

  void lower_outputs(const GraphProto& source, GraphProto& graph) {
    std::size_t index = 0;
    for (auto& output : *graph.mutable_output()) {
      const std::string name = output.name();
      const int type = type_of(name);
      Anchor anchor;
      anchor.name = name;
      anchor.handle = "d2h_" + std::to_string(index++);
      anchor.is_input = false;
      anchor.host_type = type;
      anchor.device_type = lowered_.types.count(name) > 0 ? lowered_.types[name] : type;
      if (anchor.device_type != type) {
        anchor.adaptation =
            type_name(anchor.device_type) + " to " + type_name(type) + ", once, on exit";
      }
      lowered_.anchors.push_back(std::move(anchor));
      restore_output(name, type, source, graph);
    }
  }

  // The executor's fp32 values go out as the type that the model declares.
  void restore_output(const std::string& name, int type, const GraphProto& source,
                      GraphProto& graph) {
    if (!is_float(type) || type == TensorProto::FLOAT) return;
    const bool is_input = std::any_of(source.input().begin(), source.input().end(),
                                      [&](const auto& input) { return input.name() == name; });
    if (is_input) return;
    for (NodeProto& node : *graph.mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == name) input = name + ".device";
      }
      for (std::string& output : *node.mutable_output()) {
        if (output == name) output = name + ".device";
      }
    }
    add_cast(graph, name + ".device", name, type);
  }

  void add_seed(GraphProto& graph) const {
    if (!options_.rounds_randomly()) return;
    auto& input = *graph.add_input();
    input.set_name(kSeedInput);
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(TensorProto::INT64);
    tensor.mutable_shape()->add_dim()->set_dim_value(1);
  }

  void add_domain() {
    auto& opset = *lowered_.model.add_opset_import();
    opset.set_domain(kDomain);
    opset.set_version(1);
  }

  const Options& options_;
  const TensorFacts& facts_;
  Products products_;
  Lowered lowered_;
  std::map<std::string, std::string> renamed_;
  std::set<std::string> fp32_consumers_;  // tensors that operators which stay fp32 read
  std::set<std::string> half_consumers_;
};

std::optional<std::string> objection(const NodeProto& node) {
  if (contains(kEightBit, node.op_type())) {
    return "operator " + label(node) +
           ": the model computes in 8 bits, the IPU model in fp16 or fp32; take the float model, "
           "or "
           "one whose weights alone are 8-bit";
  }
  if (!node.domain().empty() && node.domain() != "ai.onnx" && node.domain() != "ai.onnx.ml") {
    return "operator " + label(node) + " of domain " + node.domain() + ": not an ONNX operator";
  }
  return std::nullopt;
}

}  // namespace

void check_lowerable(const ModelProto& model) {
  for (const NodeProto& node : model.graph().node()) {
    if (const auto why = objection(node)) throw Error(ASSAY_UNIMPLEMENTED, *why);
  }
  for (const TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_type() != TensorProto::BFLOAT16) continue;
    throw Error(ASSAY_UNIMPLEMENTED,
                "constant \"" + tensor.name() + "\" is BFLOAT16, which the IPU has not got");
  }
}

Lowered lower(const ModelProto& model, const TensorFacts& facts, const Options& options) {
  return Lowering(model, facts, options).run();
}

}  // namespace graphcore
