#include "executed_precision.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace openvino {
namespace {

// Types of the source model's operators by name.
using SourceTypes = std::map<std::string, std::string>;

struct TypeName {
  std::string_view graph;  // as OpenVINO writes it
  const char* precision;
  const char* summary;
};
// Others are no precision of arithmetic: indices, flags.
constexpr std::array<TypeName, 6> kTypes = {{{"f32", "FLOAT32", "FP32"},
                                             {"f16", "FLOAT16", "FP16"},
                                             {"bf16", "BFLOAT16", "BF16"},
                                             {"f64", "FLOAT64", "FP64"},
                                             {"i8", "INT8", "INT8"},
                                             {"u8", "INT8", "INT8"}}};

// Layers of the graph that convert or move values and compute nothing.
constexpr std::array<std::string_view, 26> kMovers = {
    "Input",         "Output",        "Const",       "Reorder",
    "Reshape",       "Transpose",     "Convert",     "Concat",
    "Concatenation", "Split",         "Gather",      "GatherElements",
    "GatherND",      "StridedSlice",  "Broadcast",   "Tile",
    "Pad",           "ShapeOf",       "NonZero",     "FakeQuantize",
    "Select",        "ScatterUpdate", "MemoryInput", "MemoryOutput",
    "SpaceToDepth",  "DepthToSpace"};

std::string fact(const ov::Node& node, const char* name) {
  const auto& facts = node.get_rt_info();
  const auto found = facts.find(name);
  return found != facts.end() && found->second.is<std::string>() ? found->second.as<std::string>()
                                                                 : std::string();
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

const TypeName* find_type(std::string_view graph) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const TypeName& type) { return type.graph == graph; });
  return found == kTypes.end() ? nullptr : found;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Type of the values that a node computes with. Its implementation ends with that of its first
// input; runtimePrecision is that of the weights where those are packed.
std::string type_of(const ov::Node& node) {
  const std::string implementation = fact(node, "primitiveType");
  const std::string last = lower(implementation.substr(implementation.rfind('_') + 1));
  return find_type(last) != nullptr ? last : fact(node, "runtimePrecision");
}

// A subgraph of one operator that gives out another type than it takes, and that is no arithmetic
// in the source either: OpenVINO puts conversions there, under names of its own, and choices by a
// mask.
bool only_converts(const ov::Node& node, const SourceTypes& source) {
  const std::string op = fact(node, "layerType");
  const std::string origin = fact(node, "originalLayersNames");
  if ((op != "Subgraph" && op != "Eltwise") || origin.find(',') != std::string::npos) return false;
  if (type_of(node) == fact(node, "outputPrecisions")) return false;
  const auto known = source.find(origin);
  return known == source.end() || known->second == "Convert" || known->second == "FakeQuantize" ||
         known->second == "Select";
}

ExecutedOperator read_node(const ov::Node& node, const SourceTypes& source) {
  ExecutedOperator row;
  row.op = fact(node, "layerType");
  row.implementation = fact(node, "primitiveType");
  const std::string type = type_of(node);
  const TypeName* const known = find_type(type);
  row.precision = known != nullptr ? known->precision : upper(type);
  row.arithmetic = known != nullptr && !only_converts(node, source) &&
                   std::find(kMovers.begin(), kMovers.end(), row.op) == kMovers.end();
  return row;
}

// Whether `node` depends on constants alone, `constant` being those found so far.
bool is_constant(const ov::Node& node, const std::set<const ov::Node*>& constant) {
  if (fact(node, "layerType") == "Const") return true;
  if (node.get_input_size() == 0) return false;
  for (std::size_t i = 0; i < node.get_input_size(); ++i) {
    if (constant.count(node.get_input_node_ptr(i)) == 0) return false;
  }
  return true;
}

}  // namespace

double ExecutedPrecision::share(const std::string& precision) const {
  std::int64_t all = 0;
  std::int64_t those = 0;
  for (const ExecutedOperator& row : operators) {
    if (!row.arithmetic) continue;
    all += row.count;
    if (row.precision == precision) those += row.count;
  }
  return all == 0 ? 0.0 : static_cast<double>(those) / static_cast<double>(all);
}

std::vector<std::string> ExecutedPrecision::precisions() const {
  std::vector<std::string> names;
  for (const ExecutedOperator& row : operators) {
    const bool known = std::find(names.begin(), names.end(), row.precision) != names.end();
    if (row.arithmetic && !known) names.push_back(row.precision);
  }
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return share(a) > share(b); });
  return names;
}

std::string ExecutedPrecision::summary() const {
  std::string text;
  for (const std::string& precision : precisions()) {
    const auto* type = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& row) {
      return row.precision == precision;
    });
    text += (text.empty() ? "" : "+") + std::string(type->summary);
  }
  return text;
}

ExecutedPrecision executed_precision(const ov::Model& graph, const ov::Model& source) {
  SourceTypes types;
  for (const auto& node : source.get_ordered_ops()) {
    types[node->get_friendly_name()] = node->get_type_name();
  }
  using Key = std::tuple<std::string, std::string, std::string, bool>;
  std::map<Key, std::int64_t> counts;
  std::set<const ov::Node*> constant;
  for (const auto& node : graph.get_ordered_ops()) {
    if (is_constant(*node, constant)) {
      constant.insert(node.get());
      continue;
    }
    const ExecutedOperator row = read_node(*node, types);
    if (row.op == "Input" || row.op == "Output") continue;
    ++counts[{row.op, row.precision, row.implementation, row.arithmetic}];
  }
  ExecutedPrecision executed;
  for (const auto& [key, count] : counts) {
    const auto& [op, precision, implementation, arithmetic] = key;
    executed.operators.push_back({op, precision, implementation, arithmetic, count});
  }
  return executed;
}

}  // namespace openvino
