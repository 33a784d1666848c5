#include "model/onnx_signature.h"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

namespace assay {
namespace {

constexpr std::array<std::pair<onnx::TensorProto::DataType, DType>, 14> kDTypes = {{
    {onnx::TensorProto::DOUBLE, DType::kFloat64},
    {onnx::TensorProto::FLOAT, DType::kFloat32},
    {onnx::TensorProto::FLOAT16, DType::kFloat16},
    {onnx::TensorProto::BFLOAT16, DType::kBFloat16},
    {onnx::TensorProto::FLOAT8E4M3FN, DType::kFloat8E4M3},
    {onnx::TensorProto::INT64, DType::kInt64},
    {onnx::TensorProto::INT32, DType::kInt32},
    {onnx::TensorProto::INT16, DType::kInt16},
    {onnx::TensorProto::INT8, DType::kInt8},
    {onnx::TensorProto::UINT8, DType::kUInt8},
    {onnx::TensorProto::BOOL, DType::kBool},
    {onnx::TensorProto::UINT16, DType::kUInt16},
    {onnx::TensorProto::UINT32, DType::kUInt32},
    {onnx::TensorProto::UINT64, DType::kUInt64},
}};

std::string element_name(int element_type) {
  if (!onnx::TensorProto::DataType_IsValid(element_type)) {
    return fmt::format("undefined element type {}", element_type);
  }
  return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(element_type));
}

// Why `value` cannot be a tensor of ours, or "".
std::string objection(const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) return "is not a tensor";
  const int element_type = value.type().tensor_type().elem_type();
  if (dtype_of_onnx(element_type)) return {};
  return fmt::format("holds {}", element_name(element_type));
}

// Shape and names of `value`, which is a tensor.
std::pair<Shape, Dims> read_shape(const onnx::ValueInfoProto& value) {
  const auto& type = value.type().tensor_type();
  Shape shape;
  Dims dims;
  dims.rank_known = type.has_shape();
  for (const auto& dim : type.shape().dim()) {
    // Some exporters write -1 where the dimension is free.
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
    dims.names.push_back(dim.dim_param());
  }
  return {std::move(shape), std::move(dims)};
}

void add_tensor(const onnx::ValueInfoProto& value, std::vector<TensorSpec>& specs,
                std::vector<Dims>& all_dims) {
  auto [shape, dims] = read_shape(value);
  const DType dtype = *dtype_of_onnx(value.type().tensor_type().elem_type());
  specs.push_back({value.name(), dtype, std::move(shape)});
  all_dims.push_back(std::move(dims));
}

// See BatchInfo. Scalars and inputs without a shape say nothing.
BatchInfo read_batch(const ModelFile& model) {
  std::set<std::int64_t> leading;
  std::set<std::string> symbols;
  for (std::size_t i = 0; i < model.signature.inputs.size(); ++i) {
    const Shape& shape = model.signature.inputs[i].shape;
    if (shape.empty()) continue;
    leading.insert(shape[0]);
    if (shape[0] < 0) symbols.insert(model.input_dims[i].names[0]);
  }
  BatchInfo batch;
  batch.dynamic = leading == std::set<std::int64_t>{-1} && symbols.size() == 1;
  if (batch.dynamic) batch.symbol = *symbols.begin();
  if (leading.size() == 1 && *leading.begin() > 0) batch.fixed = *leading.begin();
  return batch;
}

}  // namespace

std::optional<DType> dtype_of_onnx(int element_type) {
  for (const auto& [onnx_type, dtype] : kDTypes) {
    if (onnx_type == element_type) return dtype;
  }
  return std::nullopt;
}

int onnx_of_dtype(DType dtype) {
  const auto* const found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                         [&](const auto& pair) { return pair.second == dtype; });
  return found == kDTypes.end() ? onnx::TensorProto::UNDEFINED : found->first;
}

Status read_signature(const onnx::GraphProto& graph, ModelFile& model) {
  std::set<std::string> initializers;
  for (const auto& tensor : graph.initializer()) initializers.insert(tensor.name());
  for (const auto& sparse : graph.sparse_initializer()) {
    initializers.insert(sparse.values().name());
  }

  std::string problems;
  const auto add = [&](std::string_view end, const onnx::ValueInfoProto& value,
                       std::vector<TensorSpec>& specs, std::vector<Dims>& dims) {
    const std::string problem = objection(value);
    if (problem.empty()) return add_tensor(value, specs, dims);
    problems +=
        fmt::format("{}{} \"{}\" {}", problems.empty() ? "" : "; ", end, value.name(), problem);
  };
  for (const auto& input : graph.input()) {
    if (initializers.contains(input.name())) continue;
    add("input", input, model.signature.inputs, model.input_dims);
  }
  for (const auto& output : graph.output()) {
    add("output", output, model.signature.outputs, model.output_dims);
  }
  if (!problems.empty()) {
    return invalid_argument(problems + ", which Assay cannot feed or compare");
  }
  if (model.signature.outputs.empty()) return data_loss("has no output");
  model.batch = read_batch(model);
  return ok_status();
}

}  // namespace assay
