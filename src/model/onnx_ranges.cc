#include "model/onnx_ranges.h"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace assay {
namespace {

using onnx::NodeProto;

// An operator whose input `index` holds places in the table at input `table`.
struct IndexUse {
  std::string_view op;
  int index;
  int table;
};
constexpr std::array<IndexUse, 6> kIndexUses = {{
    {"Gather", 1, 0},
    {"GatherElements", 1, 0},
    {"GatherBlockQuantized", 1, 0},
    {"EmbedLayerNormalization", 0, 2},
    {"EmbedLayerNormalization", 1, 4},
    {"EmbedLayerNormalization", 8, 3},
}};

// An operator whose outputs hold values of its input `input` (-1: of every input), moved about.
struct Carrier {
  std::string_view op;
  int input;
};
constexpr std::array<Carrier, 17> kCarriers = {{
    {"Cast", 0},
    {"Identity", 0},
    {"Reshape", 0},
    {"Unsqueeze", 0},
    {"Squeeze", 0},
    {"Flatten", 0},
    {"Transpose", 0},
    {"Expand", 0},
    {"Tile", 0},
    {"Slice", 0},
    {"Split", 0},
    {"Gather", 0},
    {"GatherND", 0},
    {"Concat", -1},
    {"Where", 1},
    {"Where", 2},
    {"Clip", 0},
}};

// A tensor that holds an input's values, each moved by something in [low, high].
struct Carried {
  std::string name;
  std::int64_t low = 0;
  std::int64_t high = 0;
};

struct Bound {
  std::int64_t rows = 0;  // largest usable index + 1
  std::int64_t min = 0;
  std::string table;
};

// The integers of a constant tensor inside the file; none when it is something else.
std::optional<std::vector<std::int64_t>> integers_of(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return std::nullopt;
  std::vector<std::int64_t> values;
  const std::string& raw = tensor.raw_data();
  const auto read_raw = [&]<typename T>(T) {
    for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, raw.data() + at, sizeof value);
      values.push_back(static_cast<std::int64_t>(value));
    }
  };
  if (tensor.data_type() == onnx::TensorProto::INT64) {
    read_raw(std::int64_t{});
    values.insert(values.end(), tensor.int64_data().begin(), tensor.int64_data().end());
  } else if (tensor.data_type() == onnx::TensorProto::INT32) {
    read_raw(std::int32_t{});
    values.insert(values.end(), tensor.int32_data().begin(), tensor.int32_data().end());
  } else if (tensor.data_type() == onnx::TensorProto::FLOAT) {
    read_raw(float{});
    for (const float value : tensor.float_data())
      values.push_back(static_cast<std::int64_t>(value));
  }
  if (values.empty()) return std::nullopt;
  return values;
}

// The graph, indexed by tensor name. Borrows the graph.
class GraphIndex {
 public:
  explicit GraphIndex(const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) constants_[tensor.name()] = &tensor;
    for (const auto& info : graph.value_info()) remember_shape(info);
    for (const NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) consumers_[input].push_back(&node);
      for (const std::string& output : node.output()) producers_[output] = &node;
      if (node.op_type() == "Constant" && node.output_size() == 1) remember_constant(node);
    }
  }

  const std::vector<const NodeProto*>& consumers(const std::string& name) const {
    static const std::vector<const NodeProto*> kNone;
    const auto found = consumers_.find(name);
    return found == consumers_.end() ? kNone : found->second;
  }

  const onnx::TensorProto* constant(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
  }

  // Shape of a weight, also behind what unpacks it (Cast and Mul by a scale, DequantizeLinear).
  std::optional<Shape> shape(const std::string& name, int depth = 0) const {
    if (const auto* tensor = constant(name))
      return Shape(tensor->dims().begin(), tensor->dims().end());
    if (const auto found = shapes_.find(name); found != shapes_.end()) return found->second;
    const auto producer = producers_.find(name);
    constexpr int kDeepest = 8;
    if (producer == producers_.end() || depth > kDeepest) return std::nullopt;
    static constexpr std::array<std::string_view, 6> kKeepShape = {
        "Identity", "Cast", "QuantizeLinear", "DequantizeLinear", "Mul", "Sub"};
    const NodeProto& node = *producer->second;
    if (std::find(kKeepShape.begin(), kKeepShape.end(), node.op_type()) == kKeepShape.end()) {
      return std::nullopt;
    }
    return node.input_size() > 0 ? shape(node.input(0), depth + 1) : std::nullopt;
  }

 private:
  void remember_shape(const onnx::ValueInfoProto& info) {
    Shape shape;
    for (const auto& dim : info.type().tensor_type().shape().dim()) {
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
    if (info.type().tensor_type().has_shape()) shapes_[info.name()] = std::move(shape);
  }
  void remember_constant(const NodeProto& node) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "value") constants_[node.output(0)] = &attribute.t();
    }
  }

  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  std::unordered_map<std::string, Shape> shapes_;
  std::unordered_map<std::string, const NodeProto*> producers_;
  std::unordered_map<std::string, std::vector<const NodeProto*>> consumers_;
};

std::int64_t axis_of(const NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == "axis") return attribute.i();
  }
  return 0;
}

bool is_input(const NodeProto& node, int position, const std::string& name) {
  return position < node.input_size() && node.input(position) == name;
}

// Is every element of the constant `name` a 1?
bool is_one(const GraphIndex& graph, const std::string& name) {
  const auto* tensor = graph.constant(name);
  if (tensor == nullptr) return false;
  const auto values = integers_of(*tensor);
  return values && std::all_of(values->begin(), values->end(), [](auto v) { return v == 1; });
}

// Follows one input through the graph.
class Tracer {
 public:
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  Tracer(const GraphIndex& graph, const std::string& input) : graph_(graph) { push({input, 0, 0}); }

  void run() {
    while (!pending_.empty()) {
      const Carried value = std::move(pending_.back());
      pending_.pop_back();
      for (const NodeProto* node : graph_.consumers(value.name)) follow(*node, value);
    }
  }
  const std::optional<Bound>& bound() const { return bound_; }
  // "1 - mask" and "where(mask, ...)", as attention layers write them.
  bool used_as_mask() const { return used_as_mask_; }

 private:
  void push(Carried value) {
    if (seen_.insert(value.name).second) pending_.push_back(std::move(value));
  }
  void push_outputs(const NodeProto& node, std::int64_t low, std::int64_t high) {
    for (const std::string& output : node.output()) push({output, low, high});
  }

  void follow(const NodeProto& node, const Carried& value) {
    for (const IndexUse& use : kIndexUses) {
      if (node.op_type() == use.op && is_input(node, use.index, value.name)) {
        tighten(node, use, value);
      }
    }
    if (node.op_type() == "OneHot" && is_input(node, 0, value.name)) tighten_one_hot(node, value);
    used_as_mask_ |=
        node.op_type() == "Sub" && is_input(node, 1, value.name) && is_one(graph_, node.input(0));
    used_as_mask_ |= node.op_type() == "Where" && is_input(node, 0, value.name);
    for (const Carrier& carrier : kCarriers) {
      if (node.op_type() != carrier.op) continue;
      if (carrier.input < 0 || is_input(node, carrier.input, value.name)) {
        push_outputs(node, value.low, value.high);
      }
    }
    if (node.op_type() == "Add") follow_add(node, value);
  }

  // Several columns often share one table, each moved by its own constant.
  void follow_add(const NodeProto& node, const Carried& value) {
    if (node.input_size() != 2) return;
    const auto* tensor = graph_.constant(node.input(node.input(0) == value.name ? 1 : 0));
    if (tensor == nullptr) return;
    if (const auto moves = integers_of(*tensor)) {
      const auto [low, high] = std::minmax_element(moves->begin(), moves->end());
      push_outputs(node, value.low + *low, value.high + *high);
    }
  }

  void tighten(const NodeProto& node, const IndexUse& use, const Carried& value) {
    const std::string& table = node.input(use.table);
    const std::optional<Shape> shape = graph_.shape(table);
    if (!shape || shape->empty()) return;
    std::int64_t axis = axis_of(node);
    if (axis < 0) axis += static_cast<std::int64_t>(shape->size());
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape->size())) return;
    tighten((*shape)[static_cast<std::size_t>(axis)], table, value);
  }
  void tighten_one_hot(const NodeProto& node, const Carried& value) {
    if (node.input_size() < 2) return;
    const auto* tensor = graph_.constant(node.input(1));
    const auto depth = tensor == nullptr ? std::nullopt : integers_of(*tensor);
    if (depth) tighten(depth->front(), node.input(1), value);
  }
  void tighten(std::int64_t rows, const std::string& table, const Carried& value) {
    if (rows <= 0) return;
    rows -= value.high;
    if (!bound_ || rows < bound_->rows) bound_ = Bound{rows, bound_ ? bound_->min : 0, table};
    bound_->min = std::max(bound_->min, -value.low);
  }

  const GraphIndex& graph_;
  std::vector<Carried> pending_;
  std::set<std::string> seen_;
  std::optional<Bound> bound_;
  bool used_as_mask_ = false;
};

bool named_mask(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("mask") != std::string::npos;
}

InputRange range_by_dtype(DType dtype) {
  if (is_floating(dtype)) return {0, 1, false, "real numbers"};
  if (dtype == DType::kUInt8) return {0, 255, true, "bytes"};
  return {0, 1, true, "nothing in the model bounds it"};
}

InputRange range_of_input(const GraphIndex& graph, const TensorSpec& input) {
  if (named_mask(input.name)) return {1, 1, true, "a mask, by its name"};
  Tracer tracer(graph, input.name);
  tracer.run();
  if (const auto& bound = tracer.bound()) {
    return {static_cast<double>(bound->min),
            static_cast<double>(std::max(bound->min, bound->rows - 1)), true,
            fmt::format("indexes \"{}\"", bound->table)};
  }
  if (tracer.used_as_mask()) return {1, 1, true, "a mask, by its use"};
  return range_by_dtype(input.dtype);
}

}  // namespace

std::vector<InputRange> find_input_ranges(const onnx::GraphProto& graph,
                                          const Signature& signature) {
  const GraphIndex index(graph);
  std::vector<InputRange> ranges;
  ranges.reserve(signature.inputs.size());
  for (const TensorSpec& input : signature.inputs) ranges.push_back(range_of_input(index, input));
  return ranges;
}

}  // namespace assay
