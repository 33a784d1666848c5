#include "host_session.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace graphcore {
namespace {

namespace fs = std::filesystem;
using assay::backend::Document;
using onnx::ModelProto;

constexpr std::int64_t kFreeDim = 8;

Ort::SessionOptions plain_options(int threads) {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(std::max(1, threads));
  options.SetInterOpNumThreads(1);
  options.SetExecutionMode(ORT_SEQUENTIAL);
  options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
  options.SetDeterministicCompute(true);
  return options;
}

std::int64_t told_dim(const Document& configs, const std::string& input, std::size_t axis) {
  return configs.integer("model_info.input_shape." + input + "." + std::to_string(axis), -1);
}

std::vector<std::int64_t> shape_at(const Document& configs, const std::string& name,
                                   std::vector<std::int64_t> shape, std::int64_t batch) {
  const std::int64_t batched = batch_axis_of(configs, name, shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] >= 0) continue;
    const std::int64_t told = told_dim(configs, name, axis);
    if (static_cast<std::int64_t>(axis) == batched) {
      shape[axis] = batch * std::max<std::int64_t>(1, told);
    } else {
      shape[axis] = told > 0 ? told : kFreeDim;
    }
  }
  return shape;
}

TrialInputs zeros(const Ort::Session& session, const Document& configs, std::int64_t batch) {
  TrialInputs inputs;
  const Ort::AllocatorWithDefaultOptions allocator;
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeCPU);
  for (std::size_t i = 0; i < session.GetInputCount(); ++i) {
    inputs.names.emplace_back(session.GetInputNameAllocated(i, allocator).get());
    const Ort::TypeInfo type = session.GetInputTypeInfo(i);
    const auto info = type.GetTensorTypeAndShapeInfo();
    const auto shape = shape_at(configs, inputs.names.back(), info.GetShape(), batch);
    std::size_t size_bytes = size_of(cpu::dtype_of(info.GetElementType(), inputs.names.back()));
    for (const std::int64_t dim : shape) size_bytes *= static_cast<std::size_t>(dim);
    inputs.storage.emplace_back(std::max<std::size_t>(size_bytes, 1));
    inputs.values.push_back(Ort::Value::CreateTensor(memory, inputs.storage.back().data(),
                                                     size_bytes, shape.data(), shape.size(),
                                                     info.GetElementType()));
  }
  return inputs;
}

// An output that is a constant becomes the result of an operator: ONNX Runtime cannot hold a graph
// without any.
void add_operators_to_constant_outputs(ModelProto& model) {
  auto& graph = *model.mutable_graph();
  std::set<std::string> outputs;
  for (const auto& output : graph.output()) outputs.insert(output.name());
  for (auto& tensor : *graph.mutable_initializer()) {
    if (outputs.count(tensor.name()) == 0) continue;
    const std::string name = tensor.name();
    const std::string constant = name + ".constant";
    tensor.set_name(constant);
    for (auto& node : *graph.mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == name) input = constant;
      }
    }
    auto& node = *graph.add_node();
    node.set_op_type("Identity");
    node.set_name(constant);
    node.add_input(constant);
    node.add_output(name);
  }
}

// Every result of a node becomes an output.
ModelProto with_all_outputs(const ModelProto& model, std::vector<std::string>& names) {
  ModelProto copy = model;
  auto& graph = *copy.mutable_graph();
  graph.clear_output();
  graph.clear_value_info();
  for (const auto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      graph.add_output()->set_name(output);
      names.push_back(output);
    }
  }
  return copy;
}

void add_given_facts(const ModelProto& model, const TrialInputs& inputs, TensorFacts& facts) {
  for (const auto& tensor : model.graph().initializer()) {
    facts[tensor.name()] = {tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}};
  }
  for (std::size_t i = 0; i < inputs.names.size(); ++i) {
    const auto info = inputs.values[i].GetTensorTypeAndShapeInfo();
    facts[inputs.names[i]] = {static_cast<int>(info.GetElementType()), info.GetShape()};
  }
}

template <typename Name>
std::vector<const char*> pointers(const std::vector<Name>& names) {
  std::vector<const char*> result;
  for (const auto& name : names) result.push_back(name.c_str());
  return result;
}

}  // namespace

std::int64_t batch_axis_of(const Document& configs, const std::string& input, std::size_t rank) {
  if (rank == 0) return -1;
  // A model info that speaks of axes names every input: a null there is no leaf with a value.
  const bool speaks = configs.json().find("\"batch_axes\"") != std::string::npos;
  const std::int64_t axis = configs.integer("model_info.batch_axes." + input, speaks ? -1 : 0);
  return axis < static_cast<std::int64_t>(rank) ? axis : -1;
}

namespace {

void collect_domains(const onnx::GraphProto& graph, std::set<std::string>& domains) {
  for (const onnx::NodeProto& node : graph.node()) {
    domains.insert(node.domain() == "ai.onnx" ? "" : node.domain());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_domains(attribute.g(), domains);
      for (const onnx::GraphProto& inner : attribute.graphs()) collect_domains(inner, domains);
    }
  }
}

// ONNX Runtime writes down every set of operators that the process has heard of so far, which made
// the second compilation of a process another one than the first.
void keep_used_operator_sets(ModelProto& model) {
  std::set<std::string> used = {""};
  collect_domains(model.graph(), used);
  auto& sets = *model.mutable_opset_import();
  for (int i = sets.size() - 1; i >= 0; --i) {
    const std::string& domain = sets.Get(i).domain();
    if (!used.contains(domain == "ai.onnx" ? "" : domain)) sets.DeleteSubrange(i, 1);
  }
}

}  // namespace

onnx::ModelProto folded_model(const std::string& path, const std::string& scratch) {
  const auto runtime = OnnxRuntime::open();
  {
    Ort::SessionOptions options = plain_options(1);
    options.SetGraphOptimizationLevel(ORT_ENABLE_BASIC);
    options.AddConfigEntry("session.disable_quant_qdq", "1");
    options.SetOptimizedModelFilePath(scratch.c_str());
    const Ort::Session session(runtime->env(), path.c_str(), options);
  }
  ModelProto model = read_onnx(scratch);
  std::error_code ignored;
  fs::remove(scratch, ignored);
  keep_used_operator_sets(model);
  add_operators_to_constant_outputs(model);
  return model;
}

TensorFacts tensor_facts(const ModelProto& model, const Document& configs, std::int64_t batch) {
  const auto runtime = OnnxRuntime::open();
  std::vector<std::string> names;
  const std::string bytes = bytes_of(with_all_outputs(model, names));
  Ort::Session session = make_session(*runtime, bytes, nullptr, 1);
  const TrialInputs inputs = zeros(session, configs, batch);
  TensorFacts facts;
  add_given_facts(model, inputs, facts);
  const auto input_names = pointers(inputs.names);
  const auto output_names = pointers(names);
  const auto outputs =
      session.Run(Ort::RunOptions{nullptr}, input_names.data(), inputs.values.data(),
                  inputs.values.size(), output_names.data(), output_names.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].IsTensor()) continue;
    const auto info = outputs[i].GetTensorTypeAndShapeInfo();
    facts[names[i]] = {static_cast<int>(info.GetElementType()), info.GetShape()};
  }
  return facts;
}

Ort::Session make_session(OnnxRuntime& runtime, const std::string& bytes, IpuOperators* operators,
                          int threads) {
  Ort::SessionOptions options = plain_options(threads);
  if (operators != nullptr) operators->add_to(options);
  return {runtime.env(), bytes.data(), bytes.size(), options};
}

}  // namespace graphcore
