#include "operator_session.h"

#include <dlfcn.h>
#include <onnxruntime_cxx_api.h>

#include <stdexcept>
#include <string>

#include "onnx/onnx-ml.pb.h"

namespace assay::bench {
namespace {

using graphcore::arith::Conv2dShape;
using graphcore::arith::MatMulShape;
using Dims = std::vector<std::int64_t>;

void open_onnxruntime() {
  void* const library = dlopen(ASSAY_ONNXRUNTIME_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (base == nullptr) throw std::runtime_error("no OrtGetApiBase");
  Ort::InitApi(base()->GetApi(ORT_API_VERSION));
}

std::int64_t dim(std::size_t size) { return static_cast<std::int64_t>(size); }

void add_value(onnx::ValueInfoProto& value, const std::string& name, const Dims& dims) {
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t size : dims) type.mutable_shape()->add_dim()->set_dim_value(size);
}

void add_ints(onnx::NodeProto& node, const std::string& name, const Dims& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

struct Operator {
  onnx::NodeProto node;
  Dims input;
  Dims constant;
  Dims output;
};

Operator operator_of(const MatMulShape& shape) {
  Operator made{{},
                {dim(shape.batch), dim(shape.m), dim(shape.k)},
                {dim(shape.one_b ? 1 : shape.batch), dim(shape.k), dim(shape.n)},
                {dim(shape.batch), dim(shape.m), dim(shape.n)}};
  made.node.set_op_type("MatMul");
  return made;
}

Operator operator_of(const Conv2dShape& shape) {
  Operator made{
      {},
      {dim(shape.batch), dim(shape.channels), dim(shape.height), dim(shape.width)},
      {dim(shape.filters), dim(shape.group_channels()), dim(shape.kernel_y), dim(shape.kernel_x)},
      {dim(shape.batch), dim(shape.filters), dim(shape.out_height()), dim(shape.out_width())}};
  made.node.set_op_type("Conv");
  add_ints(made.node, "strides", {dim(shape.stride_y), dim(shape.stride_x)});
  add_ints(made.node, "pads",
           {dim(shape.pad_top), dim(shape.pad_left), dim(shape.pad_bottom), dim(shape.pad_right)});
  auto& group = *made.node.add_attribute();
  group.set_name("group");
  group.set_type(onnx::AttributeProto::INT);
  group.set_i(dim(shape.groups));
  return made;
}

std::string model_of(const Operator& the, const std::vector<float>& constant) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("one");
  onnx::NodeProto& node = *graph.add_node();
  node = the.node;
  node.add_input("x");
  node.add_input("w");
  node.add_output("y");
  add_value(*graph.add_input(), "x", the.input);
  add_value(*graph.add_output(), "y", the.output);
  onnx::TensorProto& weights = *graph.add_initializer();
  weights.set_name("w");
  weights.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t size : the.constant) weights.add_dims(size);
  weights.mutable_float_data()->Add(constant.begin(), constant.end());
  return model.SerializeAsString();
}

Ort::Env& environment() {
  static Ort::Env made = [] {
    open_onnxruntime();
    return Ort::Env(ORT_LOGGING_LEVEL_ERROR, "one");
  }();
  return made;
}

// Nothing of ONNX Runtime may be touched before environment() has opened it.
Ort::Session one_thread_session(const std::string& bytes) {
  Ort::Env& opened = environment();
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  return Ort::Session(opened, bytes.data(), bytes.size(), options);
}

}  // namespace

struct OperatorSession::State {
  State(const Operator& the, const std::string& bytes)
      : session(one_thread_session(bytes)), input(the.input), output(the.output) {}

  Ort::Session session;
  Dims input;
  Dims output;
};

OperatorSession::OperatorSession(const MatMulShape& shape, const std::vector<float>& b)
    : state_(std::make_unique<State>(operator_of(shape), model_of(operator_of(shape), b))) {}

OperatorSession::OperatorSession(const Conv2dShape& shape, const std::vector<float>& weights)
    : state_(std::make_unique<State>(operator_of(shape), model_of(operator_of(shape), weights))) {}

OperatorSession::OperatorSession(OperatorSession&& other) noexcept = default;
OperatorSession::~OperatorSession() = default;

void OperatorSession::run(const std::vector<float>& input, std::vector<float>& output) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeCPU);
  // ONNX Runtime does not write to an input.
  const Ort::Value x =
      Ort::Value::CreateTensor<float>(memory, const_cast<float*>(input.data()), input.size(),
                                      state_->input.data(), state_->input.size());
  Ort::Value y = Ort::Value::CreateTensor<float>(memory, output.data(), output.size(),
                                                 state_->output.data(), state_->output.size());
  const char* const x_name = "x";
  const char* const y_name = "y";
  state_->session.Run(Ort::RunOptions{nullptr}, &x_name, &x, 1, &y_name, &y, 1);
}

}  // namespace assay::bench
