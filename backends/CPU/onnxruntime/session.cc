#include "onnxruntime/session.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace cpu {
namespace {

using assay::backend::DType;
using assay::backend::Error;
using assay::backend::Inputs;
using assay::backend::Outputs;
using assay::backend::TensorSpec;

struct Optimization {
  const char* name;
  GraphOptimizationLevel level;
};
constexpr std::array<Optimization, 4> kOptimizations = {{{"all", ORT_ENABLE_ALL},
                                                         {"extended", ORT_ENABLE_EXTENDED},
                                                         {"basic", ORT_ENABLE_BASIC},
                                                         {"none", ORT_DISABLE_ALL}}};

// Releases what ONNX Runtime allocated for outputs without a plan.
class MadeOutputs {
 public:
  MadeOutputs(const OrtApi& api, const std::vector<std::optional<OutputPlan>>& plans,
              std::vector<OrtValue*>& outputs)
      : api_(api), plans_(plans), outputs_(outputs) {}
  MadeOutputs(const MadeOutputs&) = delete;
  MadeOutputs& operator=(const MadeOutputs&) = delete;
  ~MadeOutputs() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (!plans_[i]) api_.ReleaseValue(std::exchange(outputs_[i], nullptr));
    }
  }

 private:
  const OrtApi& api_;
  const std::vector<std::optional<OutputPlan>>& plans_;
  std::vector<OrtValue*>& outputs_;
};

GraphOptimizationLevel level_of(const std::string& name) {
  for (const Optimization& row : kOptimizations) {
    if (name == row.name) return row.level;
  }
  throw Error(ASSAY_INTERNAL, "graph_optimization \"" + name + "\" is not in the table");
}

Ort::SessionOptions session_options(const SessionRequest& request) {
  Ort::SessionOptions options;
  const bool parallel = request.options.execution_mode == "parallel";
  // Always said outright: left open, ONNX Runtime would count the machine's cores and pin threads.
  options.SetIntraOpNumThreads(request.options.intra_op_threads.value_or(request.cpus));
  options.SetInterOpNumThreads(parallel ? request.options.inter_op_threads.value_or(request.cpus)
                                        : 1);
  options.SetExecutionMode(parallel ? ORT_PARALLEL : ORT_SEQUENTIAL);
  options.SetGraphOptimizationLevel(level_of(request.options.graph_optimization));
  options.SetDeterministicCompute(true);
  // fp32 stays fp32: some processors would multiply in bfloat16.
  options.AddConfigEntry("mlas.enable_gemm_fastmath_arm64_bfloat16", "0");
  if (!request.profile_path.empty()) options.EnableProfiling(request.profile_path.c_str());
  return options;
}

DeclaredShape declared_shape(const Ort::ConstTensorTypeAndShapeInfo& info) {
  DeclaredShape shape;
  shape.dims = info.GetShape();
  std::vector<const char*> symbols(shape.dims.size());
  if (!symbols.empty()) info.GetSymbolicDimensions(symbols.data(), symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (shape.dims[i] < 0) shape.dims[i] = -1;
    shape.symbols.emplace_back(symbols[i] != nullptr ? symbols[i] : "");
  }
  return shape;
}

Ort::ConstTensorTypeAndShapeInfo tensor_info(const Ort::TypeInfo& info, const std::string& name) {
  if (info.GetONNXType() == ONNX_TYPE_TENSOR) return info.GetTensorTypeAndShapeInfo();
  throw Error(ASSAY_UNIMPLEMENTED,
              "\"" + name + "\" is not a tensor, and only tensors cross the boundary");
}

}  // namespace

OnnxSession::OnnxSession(std::shared_ptr<OnnxRuntime> runtime, const SessionRequest& request)
    : runtime_(std::move(runtime)),
      api_(&runtime_->api()),
      memory_(Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeCPU)),
      session_(runtime_->env(), request.model_path.c_str(), session_options(request)) {
  read_inputs();
  read_outputs();
}

void OnnxSession::read_inputs() {
  const Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session_.GetInputCount(); ++i) {
    const std::string name = session_.GetInputNameAllocated(i, allocator).get();
    const Ort::TypeInfo type = session_.GetInputTypeInfo(i);
    const auto info = tensor_info(type, name);
    input_types_.push_back(info.GetElementType());
    input_shapes_.push_back(declared_shape(info));
    inputs_.push_back({name, dtype_of(input_types_.back(), name), input_shapes_.back().dims});
  }
  for (const TensorSpec& input : inputs_) input_names_.push_back(input.name.c_str());
}

void OnnxSession::read_outputs() {
  const Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session_.GetOutputCount(); ++i) {
    const std::string name = session_.GetOutputNameAllocated(i, allocator).get();
    const Ort::TypeInfo type = session_.GetOutputTypeInfo(i);
    const auto info = tensor_info(type, name);
    const DeclaredShape shape = declared_shape(info);
    output_types_.push_back(info.GetElementType());
    outputs_.push_back({name, dtype_of(output_types_.back(), name), shape.dims});
    plans_.push_back(OutputPlan::make(shape, input_shapes_));
  }
  for (const TensorSpec& output : outputs_) output_names_.push_back(output.name.c_str());
}

std::vector<Ort::Value> OnnxSession::run(const std::vector<Ort::Value>& inputs) {
  return session_.Run(Ort::RunOptions{nullptr}, input_names_.data(), inputs.data(), inputs.size(),
                      output_names_.data(), output_names_.size());
}

std::vector<OutputFact> OnnxSession::compare_plans(const std::vector<Ort::Value>& inputs,
                                                   const std::vector<Ort::Value>& outputs) const {
  std::vector<std::vector<std::int64_t>> shapes;
  shapes.reserve(inputs.size());
  for (const Ort::Value& input : inputs) {
    shapes.push_back(input.GetTensorTypeAndShapeInfo().GetShape());
  }
  std::vector<OutputFact> facts;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto shape = outputs[i].GetTensorTypeAndShapeInfo().GetShape();
    std::vector<std::int64_t> planned(plans_[i] ? plans_[i]->rank() : 0);
    if (plans_[i]) {
      plans_[i]->resolve([&](std::size_t k) { return shapes[k].data(); }, planned.data());
    }
    facts.push_back({shape.size(), plans_[i] && planned == shape});
  }
  return facts;
}

void OnnxSession::learn(const std::vector<OutputFact>& facts) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const bool told = i < facts.size();
    if (!told || !facts[i].shape_known) plans_[i].reset();
    // ONNX Runtime gives an unknown shape as that of a scalar.
    std::vector<std::int64_t>& shape = outputs_[i].shape;
    if (told && shape.empty()) shape.assign(facts[i].rank, -1);
  }
}

std::unique_ptr<CallState> OnnxSession::make_state() const {
  auto state = std::make_unique<CallState>();
  for (const auto type : input_types_) state->input_values.emplace_back(*api_, memory_, type);
  for (const auto type : output_types_) state->output_values.emplace_back(*api_, memory_, type);
  state->inputs.resize(inputs_.size());
  state->outputs.resize(outputs_.size());
  std::size_t highest_rank = 0;
  for (const TensorSpec& output : outputs_) {
    highest_rank = std::max(highest_rank, output.shape.size());
  }
  state->shape.resize(highest_rank);
  return state;
}

OrtValue* OnnxSession::planned_output(std::size_t index, CallState& state, const Inputs& inputs,
                                      Outputs& outputs) const {
  const OutputPlan& plan = *plans_[index];
  std::int64_t* const shape = state.shape.data();
  plan.resolve([&](std::size_t k) { return inputs[k].shape(); }, shape);
  std::size_t size_bytes = size_of(outputs_[index].dtype);
  for (std::size_t axis = 0; axis < plan.rank(); ++axis) {
    size_bytes *= static_cast<std::size_t>(shape[axis]);
  }
  void* const memory = outputs.allocate(index, shape, plan.rank());
  return state.output_values[index].get(memory, size_bytes, shape, plan.rank());
}

void OnnxSession::copy_output(std::size_t index, const OrtValue* value, Outputs& outputs) const {
  const Ort::ConstValue tensor(value);
  const auto info = tensor.GetTensorTypeAndShapeInfo();
  const std::vector<std::int64_t> shape = info.GetShape();
  const std::size_t size_bytes = info.GetElementCount() * size_of(outputs_[index].dtype);
  void* const memory = outputs.allocate(index, shape.data(), shape.size());
  if (size_bytes > 0) std::memcpy(memory, tensor.GetTensorRawData(), size_bytes);
}

void OnnxSession::predict(CallState& state, const Inputs& inputs, Outputs& outputs) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const assay::backend::Tensor tensor = inputs[i];
    state.inputs[i] = state.input_values[i].get(const_cast<void*>(tensor.data<void>()),
                                                tensor.size_bytes(), tensor.shape(), tensor.rank());
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    state.outputs[i] = plans_[i] ? planned_output(i, state, inputs, outputs) : nullptr;
  }
  const MadeOutputs made(*api_, plans_, state.outputs);
  check(*api_, api_->Run(const_cast<OrtSession*>(static_cast<const OrtSession*>(session_)), nullptr,
                         input_names_.data(), state.inputs.data(), inputs_.size(),
                         output_names_.data(), outputs_.size(), state.outputs.data()));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!plans_[i]) copy_output(i, state.outputs[i], outputs);
  }
}

void OnnxSession::predict(const Inputs& inputs, Outputs& outputs) const {
  std::unique_ptr<CallState> state = idle_.take();
  if (state == nullptr) state = make_state();
  predict(*state, inputs, outputs);  // a state whose call failed is dropped
  idle_.put(std::move(state));
}

}  // namespace cpu
