#include "model/onnx_types.h"

#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace assay {
namespace {

using onnx::NodeProto;
using Type = onnx::TensorProto;

constexpr int kNoInput = -1;
constexpr int kLikeFirst = 0;

// How an operator's output types follow. Attributes that name a type (see kTypeAttributes) win.
struct Rule {
  int from = 0;             // the first output has the type of this input; kNoInput: `type`
  int type = 0;             // what it is when the input is omitted; 0: unknown
  int second = kLikeFirst;  // type of the second output
  int third = kLikeFirst;
  bool exact = false;  // no arithmetic that can round
};

struct Group {
  Rule rule;
  std::string_view ops;  // names, each followed by a space or the end
};

constexpr std::array<std::string_view, 4> kTypeAttributes = {"to", "dtype", "output_dtype",
                                                             "output_datatype"};

// Operators by the form of their outputs: https://onnx.ai/onnx/operators, and ONNX Runtime's
// docs/ContribOperators.md for com.microsoft.
constexpr std::array kGroups = {
    // Arithmetic.
    Group{{},
          "Acos Acosh Add Affine AffineGrid Asin Asinh Atan Atanh Attention AveragePool "
          "BatchNormalization BiasGelu BiasSoftmax Celu Col2Im Conv ConvTranspose Cos Cosh CumProd "
          "CumSum DFT DeformConv Det Div DynamicQuantizeMatMul Einsum Elu Erf Exp FastGelu "
          "FusedConv FusedGemm FusedMatMul GRU Gelu Gemm GlobalAveragePool GlobalLpPool GridSample "
          "GroupNormalization GroupQueryAttention HardSigmoid HardSwish ImageScaler "
          "InstanceNormalization LRN LSTM LeakyRelu Log LogSoftmax LpNormalization LpPool MatMul "
          "MatMulNBits Mean MeanVarianceNormalization Mish Mul MultiHeadAttention "
          "NegativeLogLikelihoodLoss PRelu Pow QuickGelu RMSNormalization RNN Reciprocal ReduceL1 "
          "ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare "
          "Resize RoiAlign RotaryEmbedding STFT Selu Shrink Sigmoid Sin Sinh Softmax "
          "SoftmaxCrossEntropyLoss Softplus Softsign Sqrt Sub Sum Swish Tan Tanh Upsample"},
    Group{{.second = Type::FLOAT, .third = Type::FLOAT},
          "LayerNormalization SimplifiedLayerNormalization SkipLayerNormalization "
          "SkipSimplifiedLayerNormalization"},
    Group{{.from = 1}, "DequantizeLinear"},
    Group{{.from = 2}, "MatMulIntegerToFloat"},
    Group{{.from = 2, .second = Type::INT32}, "EmbedLayerNormalization"},
    Group{{.from = 3}, "QAttention"},
    Group{{.from = kNoInput, .type = Type::FLOAT},
          "BlackmanWindow HammingWindow HannWindow MelWeightMatrix TfIdfVectorizer"},

    // Values moved, selected or taken as they are.
    Group{
        {.exact = true},
        "Abs Bernoulli BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil "
        "CenterCropPad Clip Compress Concat Crop DepthToSpace Expand EyeLike Flatten Floor Gather "
        "GatherElements GatherND GlobalMaxPool Hardmax Identity Max MaxRoiPool MaxUnpool Min Mod "
        "Neg Pad RandomNormalLike RandomUniformLike Range ReduceMax ReduceMin Relu Reshape "
        "ReverseSequence Round Scatter ScatterElements ScatterND Sign Slice SpaceToDepth Split "
        "Squeeze TensorScatter ThresholdedRelu Tile Transpose Trilu Unsqueeze"},
    Group{{.second = Type::BOOL, .exact = true}, "Dropout"},
    Group{{.second = Type::INT64, .exact = true}, "MaxPool TopK"},
    Group{{.second = Type::INT64, .third = Type::INT64, .exact = true}, "Unique"},
    Group{{.from = 1, .exact = true}, "CastLike Where"},
    Group{{.from = 2, .exact = true}, "OneHot"},
    Group{{.from = kNoInput, .type = Type::FLOAT, .exact = true},
          "ConstantOfShape RandomNormal RandomUniform"},
    Group{{.from = kNoInput, .exact = true}, "BitCast Constant If Loop Scan"},

    // Integers and truth values.
    Group{{.from = kNoInput, .type = Type::INT64, .exact = true},
          "ArgMax ArgMin NonMaxSuppression NonZero Shape Size"},
    Group{{.from = kNoInput, .type = Type::INT32, .exact = true},
          "ConvInteger MatMulInteger Multinomial"},
    Group{{.from = kNoInput, .type = Type::BOOL, .exact = true},
          "And Equal Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual Not Or Xor"},
    Group{{.from = 2, .type = Type::UINT8, .exact = true}, "QuantizeLinear"},
    Group{{.from = 7, .exact = true}, "QLinearConv QLinearMatMul"},
    Group{{.from = kNoInput, .type = Type::UINT8, .second = Type::FLOAT, .third = Type::UINT8},
          "DynamicQuantizeLinear"},
};

std::unordered_map<std::string_view, Rule> all_rules() {
  std::unordered_map<std::string_view, Rule> rules;
  for (const auto& [rule, ops] : kGroups) {
    for (std::size_t at = 0; at < ops.size();) {
      const std::size_t end = std::min(ops.find(' ', at), ops.size());
      rules.emplace(ops.substr(at, end - at), rule);
      at = end + 1;
    }
  }
  return rules;
}

const Rule* rule_of(const NodeProto& node) {
  static const std::unordered_map<std::string_view, Rule> kRules = all_rules();
  const std::string& domain = node.domain();
  if (!domain.empty() && domain != "ai.onnx" && domain != "com.microsoft") return nullptr;
  const auto found = kRules.find(node.op_type());
  return found == kRules.end() ? nullptr : &found->second;
}

const onnx::AttributeProto* attribute_of(const NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

bool says(const NodeProto& node, std::string_view name, std::string_view value) {
  const auto* attribute = attribute_of(node, name);
  return attribute != nullptr && attribute->s() == value;
}

int type_of(const std::string& name, const ElementTypes& types) {
  const auto found = types.find(name);
  return found == types.end() ? 0 : found->second;
}

int declared_type(const onnx::ValueInfoProto& value) {
  return value.type().tensor_type().elem_type();
}

// Output `index` of If, Loop and Scan is what their bodies declare.
int type_of_body_output(const NodeProto& node, int index) {
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    const int at = index + (node.op_type() == "Loop" ? 1 : 0);  // after the condition
    return at < attribute.g().output_size() ? declared_type(attribute.g().output(at)) : 0;
  }
  return 0;
}

int type_of_constant(const NodeProto& node) {
  const auto* value = attribute_of(node, "value");
  if (value != nullptr) return value->t().data_type();
  if (node.op_type() == "ConstantOfShape") return Type::FLOAT;
  if (attribute_of(node, "value_float") || attribute_of(node, "value_floats")) return Type::FLOAT;
  if (attribute_of(node, "value_int") || attribute_of(node, "value_ints")) return Type::INT64;
  const auto* sparse = attribute_of(node, "sparse_value");
  return sparse == nullptr ? 0 : sparse->sparse_tensor().values().data_type();
}

int type_of_first(const NodeProto& node, const Rule& rule, const ElementTypes& types) {
  for (const std::string_view name : kTypeAttributes) {
    const auto* attribute = attribute_of(node, name);
    if (attribute != nullptr && attribute->i() != 0) return static_cast<int>(attribute->i());
  }
  const bool given =
      rule.from >= 0 && rule.from < node.input_size() && !node.input(rule.from).empty();
  return given ? type_of(node.input(rule.from), types) : rule.type;
}

int type_of_output(const NodeProto& node, int index, const ElementTypes& types) {
  const Rule* rule = rule_of(node);
  if (rule == nullptr) return 0;
  const std::string& op = node.op_type();
  if (op == "If" || op == "Loop" || op == "Scan") return type_of_body_output(node, index);
  if (op == "Constant" || op == "ConstantOfShape") return type_of_constant(node);
  if (index == 1 && rule->second != kLikeFirst) return rule->second;
  if (index == 2 && rule->third != kLikeFirst) return rule->third;
  return type_of_first(node, *rule, types);
}

void add_declared(const onnx::GraphProto& graph, ElementTypes& types) {
  const auto add = [&](const std::string& name, int type) {
    if (type != 0 && !name.empty()) types[name] = type;
  };
  for (const auto& value : graph.value_info()) add(value.name(), declared_type(value));
  for (const auto& value : graph.output()) add(value.name(), declared_type(value));
  for (const auto& value : graph.input()) add(value.name(), declared_type(value));
  for (const auto& tensor : graph.initializer()) add(tensor.name(), tensor.data_type());
  for (const auto& sparse : graph.sparse_initializer()) {
    add(sparse.values().name(), sparse.values().data_type());
  }
}

// Significand bits, the hidden one included; 0 for what is not a float.
int significand_bits(int element_type) {
  switch (element_type) {
    case Type::DOUBLE:
      return 53;
    case Type::FLOAT:
      return 24;
    case Type::FLOAT16:
      return 11;
    case Type::BFLOAT16:
      return 8;
    default:
      return 0;
  }
}

// Only from one float to a coarser one: integers that do not fit a float are too rare to spoil
// masks and counters for, which are exact.
bool cast_can_round(const NodeProto& node, const ElementTypes& types) {
  if (node.input_size() == 0 || node.output_size() == 0) return false;
  const int from = significand_bits(type_of(node.input(0), types));
  const int to = significand_bits(type_of(node.output(0), types));
  return to > 0 && from > to;
}

}  // namespace

ElementTypes infer_element_types(const onnx::GraphProto& graph, ElementTypes around) {
  ElementTypes types = std::move(around);
  add_declared(graph, types);
  for (const NodeProto& node : graph.node()) {
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty() || types.contains(node.output(i))) continue;
      if (const int type = type_of_output(node, i, types)) types[node.output(i)] = type;
    }
  }
  return types;
}

bool can_round(const NodeProto& node, const ElementTypes& types) {
  const Rule* rule = rule_of(node);
  if (rule == nullptr) return true;
  const std::string& op = node.op_type();
  if (op == "Cast" || op == "CastLike") return cast_can_round(node, types);
  if (op.starts_with("Scatter")) {
    return says(node, "reduction", "add") || says(node, "reduction", "mul");
  }
  if (op == "Resize" || op == "Upsample") {
    const auto* mode = attribute_of(node, "mode");
    return mode != nullptr && mode->s() != "nearest";  // which is the default
  }
  return !rule->exact;
}

bool is_wide_float(int element_type) { return significand_bits(element_type) > 0; }

}  // namespace assay
