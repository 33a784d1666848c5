#include "conformance/models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "model/onnx_file.h"

namespace assay::conformance {
namespace fs = std::filesystem;
namespace {

using OnnxType = onnx::TensorProto;

struct TypeNumber {
  DType dtype;
  OnnxType::DataType onnx;
};
constexpr std::array<TypeNumber, 14> kTypes = {{
    {DType::kFloat64, OnnxType::DOUBLE},
    {DType::kFloat32, OnnxType::FLOAT},
    {DType::kFloat16, OnnxType::FLOAT16},
    {DType::kBFloat16, OnnxType::BFLOAT16},
    {DType::kFloat8E4M3, OnnxType::FLOAT8E4M3FN},
    {DType::kInt64, OnnxType::INT64},
    {DType::kInt32, OnnxType::INT32},
    {DType::kInt16, OnnxType::INT16},
    {DType::kInt8, OnnxType::INT8},
    {DType::kUInt8, OnnxType::UINT8},
    {DType::kBool, OnnxType::BOOL},
    {DType::kUInt16, OnnxType::UINT16},
    {DType::kUInt32, OnnxType::UINT32},
    {DType::kUInt64, OnnxType::UINT64},
}};

int onnx_type(DType dtype) {
  const auto* const row = std::ranges::find(kTypes, dtype, &TypeNumber::dtype);
  return row == kTypes.end() ? OnnxType::UNDEFINED : row->onnx;
}

// Old enough for every runtime; FLOAT8 came with the later pair.
struct Versions {
  std::int64_t ir;
  std::int64_t opset;
};
constexpr Versions kUsual = {7, 13};
constexpr Versions kWithFloat8 = {9, 19};

// A graph that is being made.
class ModelMaker {
 public:
  explicit ModelMaker(std::string name, Versions versions = kUsual) : name_(std::move(name)) {
    proto_.set_ir_version(versions.ir);
    proto_.set_producer_name("assay");
    proto_.add_opset_import()->set_version(versions.opset);
    proto_.mutable_graph()->set_name(name_);
  }

  ModelMaker& input(const TensorSpec& spec) {
    inputs_.push_back(spec);
    describe(*proto_.mutable_graph()->add_input(), spec);
    return *this;
  }
  ModelMaker& output(const TensorSpec& spec) {
    outputs_.push_back(spec);
    describe(*proto_.mutable_graph()->add_output(), spec);
    return *this;
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& node = *proto_.mutable_graph()->add_node();
    node.set_op_type(op);
    node.set_name(op + "/" + output);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(output);
    return node;
  }
  ModelMaker& weight(const std::string& name, const std::vector<std::int64_t>& shape,
                     std::span<const float> values) {
    onnx::TensorProto& tensor = constant(name, OnnxType::FLOAT, shape);
    for (const float value : values) tensor.add_float_data(value);
    return *this;
  }
  ModelMaker& integers(const std::string& name, std::span<const std::int64_t> values) {
    onnx::TensorProto& tensor =
        constant(name, OnnxType::INT64, {static_cast<std::int64_t>(values.size())});
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }

  Result<Model> write(const fs::path& folder) const {
    Model model;
    model.path = folder / (name_ + ".onnx");
    RETURN_IF_ERROR(save_onnx(proto_, model.path));
    model.info = info(model.path);
    return model;
  }

 private:
  static void describe(onnx::ValueInfoProto& value, const TensorSpec& spec) {
    value.set_name(spec.name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx_type(spec.dtype));
    auto& shape = *type.mutable_shape();
    for (const std::int64_t dim : spec.shape) {
      auto& made = *shape.add_dim();
      if (dim < 0) {
        made.set_dim_param("N");
      } else {
        made.set_dim_value(dim);
      }
    }
  }

  onnx::TensorProto& constant(const std::string& name, int type,
                              const std::vector<std::int64_t>& shape) {
    onnx::TensorProto& tensor = *proto_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::int64_t dim : shape) tensor.add_dims(dim);
    return tensor;
  }

  Json info(const fs::path& path) const {
    std::vector<std::string> inputs;
    std::vector<std::string> types;
    std::vector<std::string> outputs;
    Json shapes = Json::object();
    outputs.reserve(outputs_.size());
    for (const TensorSpec& spec : inputs_) {
      inputs.push_back(spec.name);
      types.emplace_back(assay::name_of(spec.dtype));
      shapes[spec.name] = spec.shape;
      if (!spec.shape.empty() && spec.shape[0] < 0) shapes[spec.name][0] = 1;
    }
    for (const TensorSpec& spec : outputs_) outputs.push_back(spec.name);
    return {{"model", name_},
            {"model_path", path.string()},
            {"framework", "Onnx"},
            {"model_format", "onnx"},
            {"model_precision", "FP32"},
            {"inputs", fmt::format("{}", fmt::join(inputs, ","))},
            {"outputs", fmt::format("{}", fmt::join(outputs, ","))},
            {"input_shape", std::move(shapes)},
            {"input_type", fmt::format("{}", fmt::join(types, ","))}};
  }

  std::string name_;
  onnx::ModelProto proto_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
};

constexpr std::int64_t kIn = 4;
constexpr std::int64_t kOut = 3;
constexpr std::array<float, kIn * kOut> kWeights = {1, 0, 2, 0, 1, 1, 2, 1, 0, 1, 1, 1};
constexpr std::array<float, kOut> kBias = {1, 2, 3};
constexpr int kSamples = 3;

// Whole numbers below 7: sums stay below 32, which the narrowest dtype holds.
Result<drill::Case> linear_sample(int number) {
  drill::Case sample;
  ASSIGN_OR_RETURN(Tensor x, Tensor::make({"x", DType::kFloat32, {1, kIn}}));
  ASSIGN_OR_RETURN(Tensor y, Tensor::make({"y", DType::kFloat32, {1, kOut}}));
  for (std::size_t k = 0; k < kIn; ++k) {
    x.as<float>()[k] = static_cast<float>((3 * static_cast<std::size_t>(number) + 2 * k) % 7);
  }
  for (std::size_t j = 0; j < kOut; ++j) {
    float sum = kBias[j];
    for (std::size_t k = 0; k < kIn; ++k) sum += x.as<float>()[k] * kWeights[k * kOut + j];
    y.as<float>()[j] = sum;
  }
  sample.inputs.push_back(std::move(x));
  sample.outputs.push_back(std::move(y));
  return sample;
}

// The same bytes under another name and shape.
Result<Tensor> renamed(const Tensor& tensor, std::string name, Shape shape) {
  ASSIGN_OR_RETURN(Tensor copy,
                   Tensor::make({std::move(name), tensor.spec().dtype, std::move(shape)}));
  std::ranges::copy(tensor.bytes(), copy.bytes().begin());
  return copy;
}

// x after x along the last dimension.
Result<Tensor> doubled(const Tensor& x) {
  Shape shape = x.spec().shape;
  const std::size_t row_bytes = static_cast<std::size_t>(shape.back()) * size_of(x.spec().dtype);
  shape.back() *= 2;
  ASSIGN_OR_RETURN(Tensor twice, Tensor::make({"twice", x.spec().dtype, std::move(shape)}));
  auto at = twice.bytes().begin();
  for (std::size_t begin = 0; begin < x.bytes().size(); begin += row_bytes) {
    const auto row = x.bytes().subspan(begin, row_bytes);
    at = std::ranges::copy(row, at).out;
    at = std::ranges::copy(row, at).out;
  }
  return twice;
}

Result<Model> copying_model(ModelMaker& maker, const fs::path& folder, const TensorSpec& x,
                            const drill::Values& values) {
  maker.input(x).output({"y", x.dtype, x.shape}).node("Identity", {"x"}, "y");
  ASSIGN_OR_RETURN(Model model, maker.write(folder));
  drill::Case one;
  ASSIGN_OR_RETURN(Tensor input, drill::tensor_with(x, values));
  ASSIGN_OR_RETURN(Tensor output, renamed(input, "y", x.shape));
  one.inputs.push_back(std::move(input));
  one.outputs.push_back(std::move(output));
  model.cases.push_back(std::move(one));
  return model;
}

}  // namespace

Result<Model> linear_model(const fs::path& folder, bool fixed_batch) {
  const std::int64_t batch = fixed_batch ? 1 : -1;
  ModelMaker maker(fixed_batch ? "linear_of_one" : "linear");
  maker.input({"x", DType::kFloat32, {batch, kIn}})
      .output({"y", DType::kFloat32, {batch, kOut}})
      .weight("W", {kIn, kOut}, kWeights)
      .weight("b", {kOut}, kBias);
  maker.node("MatMul", {"x", "W"}, "product");
  maker.node("Add", {"product", "b"}, "y");
  ASSIGN_OR_RETURN(Model model, maker.write(folder));
  for (int number = 0; number < kSamples; ++number) {
    ASSIGN_OR_RETURN(drill::Case sample, linear_sample(number));
    model.cases.push_back(std::move(sample));
  }
  model.batched = true;
  return model;
}

Result<Model> chain_model(const fs::path& folder) {
  constexpr std::array<float, 4> kConstants = {1, 3, 2, 4};
  ModelMaker maker("chain");
  const TensorSpec x{"x", DType::kFloat32, {1, 4}};
  maker.input(x).output({"y", x.dtype, x.shape});
  for (std::size_t i = 0; i < kConstants.size(); ++i) {
    maker.weight(fmt::format("c{}", i), {1}, std::span(kConstants).subspan(i, 1));
  }
  maker.node("Sub", {"x", "c0"}, "shifted");
  maker.node("Abs", {"shifted"}, "distance");
  maker.node("Add", {"distance", "c1"}, "sum");
  maker.node("Mul", {"sum", "c2"}, "scaled");
  maker.node("Sub", {"scaled", "c3"}, "moved");
  maker.node("Relu", {"moved"}, "y");
  ASSIGN_OR_RETURN(Model model, maker.write(folder));
  drill::Case one;
  ASSIGN_OR_RETURN(Tensor input, Tensor::make(x));
  ASSIGN_OR_RETURN(Tensor output, Tensor::make({"y", x.dtype, x.shape}));
  for (std::size_t i = 0; i < 4; ++i) {
    const auto value = static_cast<float>(i) - 1;  // -1, 0, 1, 2
    input.as<float>()[i] = value;
    output.as<float>()[i] = 2 * (std::abs(value - 1) + 3) - 4;
  }
  one.inputs.push_back(std::move(input));
  one.outputs.push_back(std::move(output));
  model.cases.push_back(std::move(one));
  return model;
}

Result<Model> identity_model(const fs::path& folder, DType dtype) {
  ModelMaker maker(fmt::format("identity_{}", assay::name_of(dtype)),
                   dtype == DType::kFloat8E4M3 ? kWithFloat8 : kUsual);
  return copying_model(maker, folder, {"x", dtype, {1, 6}}, {.extremes = true});
}

Result<Model> rank_model(const fs::path& folder, std::int64_t rank, bool flat) {
  constexpr std::array<std::int64_t, 8> kDims = {1, 2, 3, 1, 2, 1, 2, 2};
  const Shape shape(kDims.begin(), kDims.begin() + rank);
  ModelMaker maker(fmt::format("rank_{}", rank));
  const TensorSpec x{"x", DType::kFloat32, shape};
  ASSIGN_OR_RETURN(const std::int64_t elements, element_count(shape));
  if (flat) {
    const std::array<std::int64_t, 1> all = {-1};
    maker.integers("all", all).node("Reshape", {"x", "all"}, "flat");
  }
  if (rank > 0) {
    onnx::AttributeProto& axis = *maker.node("Concat", {"x", "x"}, "twice").add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(rank - 1);
  }
  ASSIGN_OR_RETURN(const Tensor input, drill::tensor_with(x, {}));
  std::vector<Tensor> more;
  if (flat) {
    ASSIGN_OR_RETURN(Tensor made, renamed(input, "flat", {elements}));
    more.push_back(std::move(made));
  }
  if (rank > 0) {
    ASSIGN_OR_RETURN(Tensor made, doubled(input));
    more.push_back(std::move(made));
  }
  for (const Tensor& tensor : more) maker.output(tensor.spec());
  ASSIGN_OR_RETURN(Model model, copying_model(maker, folder, x, {}));
  auto& outputs = model.cases[0].outputs;
  std::ranges::move(more, std::inserter(outputs, outputs.begin()));
  return model;
}

Result<Model> empty_model(const fs::path& folder) {
  ModelMaker maker("no_elements");
  return copying_model(maker, folder, {"x", DType::kFloat32, {1, 0, 3}}, {});
}

Result<Model> big_model(const fs::path& folder, std::int64_t elements) {
  ModelMaker maker("big");
  maker.input({"x", DType::kFloat32, {1, elements}}).output({"y", DType::kFloat32, {1, elements}});
  maker.node("Identity", {"x"}, "y");
  return maker.write(folder);
}

Model no_model() {
  Model model;
  model.info =
      Json{{"model", "own"},          {"framework", "None"}, {"model_format", "none"},
           {"model_path", ""},        {"inputs", "x"},       {"input_shape", {{"x", {1, kIn}}}},
           {"input_type", "FLOAT32"}, {"outputs", "y"}};
  return model;
}

Model foreign_model(const fs::path& path, const std::string& format) {
  Model model;
  model.path = path;
  model.info = Json{{"model", path.stem().string()},
                    {"model_path", path.string()},
                    {"framework", "None"},
                    {"model_format", format}};
  return model;
}

}  // namespace assay::conformance
