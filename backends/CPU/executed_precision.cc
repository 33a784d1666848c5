#include "executed_precision.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "assay/backend.hpp"

namespace cpu {
namespace {

using assay::backend::Error;
using Json = nlohmann::json;

struct TypeName {
  std::string_view profile;  // as ONNX Runtime writes it
  const char* precision;
  const char* summary;  // "" for types that are no precision of arithmetic: indices, flags
};
constexpr std::array<TypeName, 6> kTypes = {{{"float", "FLOAT32", "FP32"},
                                             {"float16", "FLOAT16", "FP16"},
                                             {"bfloat16", "BFLOAT16", "BF16"},
                                             {"double", "FLOAT64", "FP64"},
                                             {"int8", "INT8", "INT8"},
                                             {"uint8", "INT8", "INT8"}}};

// Operators that convert or move values and compute nothing.
constexpr std::array<std::string_view, 27> kMovers = {"Cast",
                                                      "QuantizeLinear",
                                                      "DequantizeLinear",
                                                      "DynamicQuantizeLinear",
                                                      "ReorderInput",
                                                      "ReorderOutput",
                                                      "Identity",
                                                      "Reshape",
                                                      "Flatten",
                                                      "Transpose",
                                                      "Squeeze",
                                                      "Unsqueeze",
                                                      "Concat",
                                                      "Slice",
                                                      "Split",
                                                      "Gather",
                                                      "GatherElements",
                                                      "GatherND",
                                                      "Expand",
                                                      "Tile",
                                                      "Pad",
                                                      "Shape",
                                                      "Where",
                                                      "NonZero",
                                                      "ConstantOfShape",
                                                      "MemcpyFromHost",
                                                      "MemcpyToHost"};

const TypeName* find_type(std::string_view profile) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const TypeName& type) { return type.profile == profile; });
  return found == kTypes.end() ? nullptr : found;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

// The type of the node's first input, or of its output when it has no input.
std::string node_type(const Json& args) {
  for (const char* end : {"input_type_shape", "output_type_shape"}) {
    const Json& tensors = args.value(end, Json::array());
    for (const Json& tensor : tensors) {
      if (tensor.is_object() && !tensor.empty()) return tensor.begin().key();
    }
  }
  return {};
}

ExecutedOperator read_node(const Json& args) {
  ExecutedOperator node;
  node.op = args.at("op_name").get<std::string>();
  node.provider = args.value("provider", "");
  const std::string type = node_type(args);
  const TypeName* const known = find_type(type);
  node.precision = known != nullptr ? known->precision : upper(type);
  node.arithmetic =
      known != nullptr && std::find(kMovers.begin(), kMovers.end(), node.op) == kMovers.end();
  return node;
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

ExecutedPrecision executed_precision(const std::string& profile_json) {
  using Key = std::tuple<std::string, std::string, std::string, bool>;
  std::map<Key, std::int64_t> counts;
  ExecutedPrecision executed;
  try {
    for (const Json& event : Json::parse(profile_json)) {
      const std::string name = event.value("name", "");
      if (event.value("cat", "") != "Node" || !name.ends_with("_kernel_time")) continue;
      const ExecutedOperator node = read_node(event.at("args"));
      ++counts[{node.op, node.precision, node.provider, node.arithmetic}];
      if (name.starts_with("InsertedPrecisionFreeCast")) ++executed.inserted_casts;
    }
  } catch (const Json::exception& e) {
    throw Error(ASSAY_INTERNAL, std::string("ONNX Runtime's profile cannot be read: ") + e.what());
  }
  for (const auto& [key, count] : counts) {
    const auto& [op, precision, provider, arithmetic] = key;
    executed.operators.push_back({op, precision, provider, arithmetic, count});
  }
  return executed;
}

}  // namespace cpu
