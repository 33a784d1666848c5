#include "model/onnx_rounding.h"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/file.h"
#include "model/onnx_external.h"
#include "model/onnx_file.h"
#include "model/onnx_types.h"
#include "model/onnx_walk.h"
#include "model/onnx_weight_noise.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using onnx::GraphProto;
using onnx::NodeProto;
using Type = onnx::TensorProto;
using Names = std::unordered_set<std::string>;

constexpr std::int64_t kOldestOpset = 9;  // Where, Flatten of every type

// Magnitudes from here on are left alone: finite after any shift, yet larger than values that a
// network computes with.
double largest_moved(int type, double unit) {
  constexpr double kLargestHalf = 65504;
  if (type == Type::FLOAT16) return kLargestHalf / (1 + unit);
  return type == Type::DOUBLE ? 0x1p1000 : 0x1p100;
}

// Seeds 0 .. 2^24 - 1, which the attribute (a float) holds exactly; distinct for the first 2^24
// operators. Scattered, because the first values of linear congruential generators with
// neighbouring seeds are neighbours too.
std::uint32_t seed_of_operator(std::uint64_t seed, std::int64_t index) {
  constexpr std::uint32_t kMask = (1U << 24) - 1;
  seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9U;  // splitmix64's finaliser
  seed = (seed ^ (seed >> 27)) * 0x94D049BB133111EBU;
  auto mixed = static_cast<std::uint32_t>((seed ^ (seed >> 31)) & kMask);
  mixed = (mixed + static_cast<std::uint32_t>(index)) & kMask;
  for (const std::uint32_t odd : {0x5BD1E9U, 0x9E3779U}) {  // each step maps one to one
    mixed = (mixed * odd) & kMask;
    mixed ^= mixed >> 12;
  }
  return mixed;
}

// A start that no name of the model has.
std::string unused_prefix(const onnx::ModelProto& proto) {
  std::string prefix = "assay_rounding";
  bool taken = false;
  const auto look = [&](const std::string& name) { taken |= name.starts_with(prefix); };
  do {
    taken = false;
    for_each_node(proto, [&](const NodeProto& node) {
      look(node.name());
      for (const std::string& output : node.output()) look(output);
    });
    for_each_tensor(proto, [&](const onnx::TensorProto& tensor) { look(tensor.name()); });
    for (const auto& input : proto.graph().input()) look(input.name());
    if (taken) prefix += "_";
  } while (taken);
  return prefix;
}

void set_int(NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_float(NodeProto& node, const char* name, double value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
}

// Adds the noise to one model.
class NoiseWriter {
 public:
  NoiseWriter(const NoiseWriter&) = delete;
  NoiseWriter& operator=(const NoiseWriter&) = delete;
  NoiseWriter(onnx::ModelProto& proto, const RoundingNoise& noise)
      : proto_(proto), noise_(noise), prefix_(unused_prefix(proto)) {}

  RoundingCopy write() {
    GraphProto& graph = *proto_.mutable_graph();
    Names inputs;
    for (const auto& input : graph.input()) inputs.insert(input.name());
    for (const auto& tensor : graph.initializer()) inputs.erase(tensor.name());
    move_graph(graph, {}, std::move(inputs));
    put_constants_first(graph);
    return figures_;
  }

 private:
  // `data` are the names seen from here whose values depend on the model's inputs.
  void move_graph(GraphProto& graph, const ElementTypes& around, Names data) {
    const ElementTypes types = infer_element_types(graph, around);
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    for (NodeProto& original : nodes) {
      NodeProto& node = *graph.add_node();
      node.Swap(&original);
      if (!depends_on(node, data)) continue;
      data.insert(node.output().begin(), node.output().end());
      move_bodies(node, types, data);
      if (can_round(node, types)) move_outputs(graph, node, types);
    }
  }

  static bool depends_on(const NodeProto& node, const Names& data) {
    if (node.op_type() == "Shape" || node.op_type() == "Size") return false;
    const std::vector<std::string> read = names_read(node);
    return std::any_of(read.begin(), read.end(),
                       [&](const std::string& name) { return data.contains(name); });
  }

  void move_bodies(NodeProto& node, const ElementTypes& types, const Names& data) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      Names inside = data;
      for (const auto& input : attribute.g().input()) inside.insert(input.name());
      move_graph(*attribute.mutable_g(), types, std::move(inside));
    }
  }

  void move_outputs(GraphProto& graph, NodeProto& node, const ElementTypes& types) {
    for (std::string& output : *node.mutable_output()) {
      if (output.empty()) continue;
      const auto type = types.find(output);
      if (type == types.end()) ++figures_.untyped;
      if (type == types.end() || !is_wide_float(type->second)) continue;
      const std::string name = std::exchange(output, new_name("exact"));
      move_value(graph, output, type->second, name);
      ++figures_.moved;
    }
  }

  // moved = exact + base * r. 16-bit floats are moved in fp32.
  void move_value(GraphProto& graph, const std::string& exact, int type, const std::string& moved) {
    const bool narrow = type == Type::FLOAT16 || type == Type::BFLOAT16;
    const int wide = narrow ? static_cast<int>(Type::FLOAT) : type;
    const std::string value = narrow ? cast(graph, exact, wide, new_name("wide")) : exact;
    const std::string shift =
        add(graph, "Mul", {base_of(graph, value, type, wide), noise_like(graph, value, wide)});
    NodeProto& sum = node(graph, "Add", {value, shift}, narrow ? new_name("sum") : moved);
    if (narrow) cast(graph, sum.output(0), type, moved);
  }

  // What the shift of each element is relative to.
  std::string base_of(GraphProto& graph, const std::string& value, int type, int wide) {
    const std::string zero = constant(0, wide);
    const std::string size = add(graph, "Abs", {value});
    const std::string fits =
        add(graph, "Less", {size, constant(largest_moved(type, noise_.unit), wide)});
    if (noise_.scope == NoiseScope::kElement) return add(graph, "Where", {fits, value, zero});
    // A zero beside the values, as the largest of no values is an error.
    const std::string sizes = add(graph, "Where", {fits, size, zero});
    const std::string flat = new_name("Flatten");
    set_int(node(graph, "Flatten", {sizes}, flat), "axis", 0);
    const std::string all = new_name("Concat");
    set_int(node(graph, "Concat", {flat, constant(0, wide, {1, 1})}, all), "axis", 1);
    const std::string largest = new_name("ReduceMax");
    set_int(node(graph, "ReduceMax", {all}, largest), "keepdims", 0);  // no axes: over all
    return largest;
  }

  std::string noise_like(GraphProto& graph, const std::string& value, int wide) {
    const std::string name = new_name("noise");
    NodeProto& noise = node(graph, "RandomUniformLike", {value}, name);
    set_float(noise, "low", -noise_.unit);
    set_float(noise, "high", noise_.unit);
    set_float(noise, "seed", seed_of_operator(noise_.seed, figures_.moved));
    set_int(noise, "dtype", wide);
    return name;
  }

  std::string cast(GraphProto& graph, const std::string& from, int to, const std::string& name) {
    set_int(node(graph, "Cast", {from}, name), "to", to);
    return name;
  }

  std::string add(GraphProto& graph, const char* op, const std::vector<std::string>& inputs) {
    return node(graph, op, inputs, new_name(op)).output(0);
  }

  static NodeProto& node(GraphProto& graph, const char* op, const std::vector<std::string>& inputs,
                         const std::string& output) {
    NodeProto& made = *graph.add_node();
    made.set_op_type(op);
    made.set_name(output + "/" + op);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    return made;
  }

  // Made once, as an operator at the start of the main graph, where sub-graphs see it too.
  std::string constant(double value, int type, const std::vector<std::int64_t>& dims = {}) {
    std::string& name = constants_[{value, type, dims.size()}];
    if (!name.empty()) return name;
    name = new_name("constant");
    NodeProto& made = node(constant_nodes_, "Constant", {}, name);
    onnx::AttributeProto& attribute = *made.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    onnx::TensorProto& tensor = *attribute.mutable_t();
    tensor.set_data_type(type);
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    if (type == Type::DOUBLE) {
      tensor.add_double_data(value);
    } else {
      tensor.add_float_data(static_cast<float>(value));
    }
    return name;
  }

  void put_constants_first(GraphProto& graph) {
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph.mutable_node());
    graph.mutable_node()->Swap(constant_nodes_.mutable_node());
    for (NodeProto& one : nodes) graph.add_node()->Swap(&one);
  }

  std::string new_name(std::string_view what) {
    return fmt::format("{}/{}_{}", prefix_, what, names_made_++);
  }

  onnx::ModelProto& proto_;
  const RoundingNoise noise_;
  const std::string prefix_;
  std::int64_t names_made_ = 0;
  std::map<std::tuple<double, int, std::size_t>, std::string> constants_;  // value, type, rank
  GraphProto constant_nodes_;
  RoundingCopy figures_;
};

Status check(const onnx::ModelProto& proto, const RoundingNoise& noise) {
  if (!(noise.unit >= 0 && noise.unit <= 1)) {
    return invalid_argument(
        fmt::format("unit of rounding noise: got {}, expected 0 to 1", noise.unit));
  }
  std::int64_t version = 0;
  for (const auto& opset : proto.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") version = opset.version();
  }
  if (version >= kOldestOpset) return ok_status();
  return unimplemented(fmt::format("rounding noise needs opset {} of ai.onnx or newer, got {}",
                                   kOldestOpset, version));
}

Result<RoundingCopy> write_copy(const fs::path& model, const fs::path& to,
                                const RoundingNoise& noise) {
  onnx::ModelProto proto;
  RETURN_IF_ERROR(load_onnx(model, proto));
  RETURN_IF_ERROR(check(proto, noise));
  RETURN_IF_ERROR(embed_external_data(proto, model));
  const std::int64_t weights = noise.weights ? move_weights(proto, noise) : 0;
  RoundingCopy figures = NoiseWriter(proto, noise).write();
  figures.weights = weights;
  RETURN_IF_ERROR(save_onnx(proto, to));
  return figures;
}

}  // namespace

Result<RoundingCopy> write_with_rounding_noise(const fs::path& model, const fs::path& to,
                                               const RoundingNoise& noise) {
  Result<RoundingCopy> copy = write_copy(model, to, noise);
  if (!copy.ok()) return copy.status().with_context(quoted(model));
  return copy;
}

}  // namespace assay
