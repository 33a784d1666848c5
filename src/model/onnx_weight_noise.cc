#include "model/onnx_weight_noise.h"

#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/onnx_types.h"
#include "model/onnx_walk.h"
#include "tensor/convert.h"

namespace assay {
namespace {

using onnx::NodeProto;
using Type = onnx::TensorProto;

// Inputs of an operator that are weights when they are constant.
struct WeightUse {
  std::string_view op;
  int input;
  bool bias = false;
};
constexpr std::array<WeightUse, 26> kWeightUses = {{
    {"Conv", 1},          {"Conv", 2, true},
    {"ConvTranspose", 1}, {"ConvTranspose", 2, true},
    {"DeformConv", 1},    {"DeformConv", 3, true},
    {"FusedConv", 1},     {"FusedConv", 2, true},
    {"Gemm", 0},          {"Gemm", 1},
    {"Gemm", 2, true},    {"FusedGemm", 0},
    {"FusedGemm", 1},     {"FusedGemm", 2, true},
    {"MatMul", 0},        {"MatMul", 1},
    {"FusedMatMul", 0},   {"FusedMatMul", 1},
    {"LSTM", 1},          {"LSTM", 2},
    {"GRU", 1},           {"GRU", 2},
    {"RNN", 1},           {"RNN", 2},
    {"Gather", 0},        {"Einsum", 1},
}};

// Values of a floating-point tensor inside the file.
std::vector<double> values_of(const onnx::TensorProto& tensor) {
  std::vector<double> values;
  const std::string& raw = tensor.raw_data();
  const auto read_raw = [&]<typename T>(T, auto&& widen) {
    for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
      T value;
      std::memcpy(&value, raw.data() + at, sizeof value);
      values.push_back(widen(value));
    }
  };
  const auto halves = [&](auto&& widen) {
    read_raw(std::uint16_t{}, widen);
    for (const int bits : tensor.int32_data()) {
      values.push_back(widen(static_cast<std::uint16_t>(bits)));
    }
  };
  switch (tensor.data_type()) {
    case Type::FLOAT:
      read_raw(float{}, [](float value) { return double{value}; });
      values.insert(values.end(), tensor.float_data().begin(), tensor.float_data().end());
      break;
    case Type::DOUBLE:
      read_raw(double{}, [](double value) { return value; });
      values.insert(values.end(), tensor.double_data().begin(), tensor.double_data().end());
      break;
    case Type::FLOAT16:
      halves([](std::uint16_t bits) { return double{half_to_float(bits)}; });
      break;
    case Type::BFLOAT16:
      halves([](std::uint16_t bits) { return double{bfloat16_to_float(bits)}; });
      break;
    default:
      break;
  }
  return values;
}

void set_values(const std::vector<double>& values, onnx::TensorProto& tensor) {
  std::string raw;
  const auto append = [&raw](auto value) {
    raw.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  for (const double value : values) {
    const auto single = static_cast<float>(value);
    if (tensor.data_type() == Type::FLOAT) append(single);
    if (tensor.data_type() == Type::DOUBLE) append(value);
    if (tensor.data_type() == Type::FLOAT16) append(float_to_half(single));
    if (tensor.data_type() == Type::BFLOAT16) append(float_to_bfloat16(single));
  }
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.set_raw_data(std::move(raw));
}

// The rule of the operators' outputs (see write_with_rounding_noise), once for all.
void move_tensor(onnx::TensorProto& tensor, const RoundingNoise& noise, std::int64_t index) {
  constexpr double kLargestMoved = 0x1p100;
  std::vector<double> values = values_of(tensor);
  double largest = 0;
  for (const double value : values) {
    if (std::fabs(value) < kLargestMoved) largest = std::max(largest, std::fabs(value));
  }
  std::seed_seq seeds{noise.seed & 0xFFFFFFFFU, noise.seed >> 32,
                      static_cast<std::uint64_t>(index)};
  std::mt19937_64 generator(seeds);
  for (double& value : values) {
    // The same on every platform, as std::uniform_real_distribution is not.
    const double r = static_cast<double>(generator() >> 11) * 0x1p-52 - 1;
    if (!(std::fabs(value) < kLargestMoved)) continue;
    const double base = noise.scope == NoiseScope::kElement ? value : largest;
    value += base * noise.unit * r;
  }
  set_values(values, tensor);
}

// Finds the constants of the main graph that are weights.
class WeightFinder {
 public:
  WeightFinder(const WeightFinder&) = delete;
  WeightFinder& operator=(const WeightFinder&) = delete;
  explicit WeightFinder(onnx::GraphProto& graph) : types_(infer_element_types(graph)) {
    for (auto& tensor : *graph.mutable_initializer()) constants_[tensor.name()] = &tensor;
    for (NodeProto& node : *graph.mutable_node()) {
      if (node.op_type() == "Constant") remember_constant(node);
      for (const std::string& output : node.output()) producers_[output] = &node;
    }
  }

  // Follows `name` back to where its values come from.
  void follow(const std::string& name) {
    if (!seen_.insert(name).second) return;
    if (const auto found = constants_.find(name); found != constants_.end()) {
      if (is_wide_float(found->second->data_type())) weights_[name] = found->second;
      return;
    }
    const auto producer = producers_.find(name);
    if (producer == producers_.end() || can_round(*producer->second, types_)) return;
    for (const std::string& input : producer->second->input()) follow(input);
  }

  const std::map<std::string, onnx::TensorProto*>& weights() const { return weights_; }

 private:
  void remember_constant(NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) constants_[node.output(0)] = attribute.mutable_t();
    }
  }

  const ElementTypes types_;
  std::unordered_map<std::string, onnx::TensorProto*> constants_;
  std::unordered_map<std::string, const NodeProto*> producers_;
  std::set<std::string> seen_;
  std::map<std::string, onnx::TensorProto*> weights_;
};

}  // namespace

std::int64_t move_weights(onnx::ModelProto& proto, const RoundingNoise& noise) {
  WeightFinder finder(*proto.mutable_graph());
  for_each_node(proto, [&](const NodeProto& node) {
    for (const WeightUse& use : kWeightUses) {
      if (node.op_type() != use.op || use.input >= node.input_size()) continue;
      if (use.bias && noise.scope == NoiseScope::kTensor) continue;
      finder.follow(node.input(use.input));
    }
  });
  std::int64_t index = 0;
  for (const auto& [name, tensor] : finder.weights()) move_tensor(*tensor, noise, index++);
  return index;
}

}  // namespace assay
