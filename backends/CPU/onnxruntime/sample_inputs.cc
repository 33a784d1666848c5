#include "onnxruntime/sample_inputs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "batch_rule.h"

namespace cpu {
namespace {

using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Error;
using assay::backend::Inputs;
using assay::backend::Tensor;
using assay::backend::TensorSpec;

constexpr std::int64_t kFreeBatch = 2;
constexpr std::int64_t kFreeDim = 8;

Ort::MemoryInfo host_memory() {
  return Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeCPU);
}

bool fits(const Tensor& tensor, const TensorSpec& spec) {
  if (tensor.dtype() != spec.dtype || tensor.rank() != spec.shape.size()) return false;
  for (std::size_t axis = 0; axis < spec.shape.size(); ++axis) {
    if (spec.shape[axis] >= 0 && spec.shape[axis] != tensor.dim(axis)) return false;
  }
  return true;
}

// Borrows what the loader read; empty when it does not fit.
SampleInputs borrow(const OnnxSession& session, const Inputs& read) {
  SampleInputs inputs;
  if (read.size() != session.inputs().size()) return inputs;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const Tensor tensor = read[i];
    if (!fits(tensor, session.inputs()[i])) return {};
    inputs.values.push_back(Ort::Value::CreateTensor(
        host_memory(), const_cast<void*>(tensor.data<void>()), tensor.size_bytes(), tensor.shape(),
        tensor.rank(), session.input_types()[i]));
  }
  return inputs;
}

// A concrete shape for input `index`.
std::vector<std::int64_t> concrete_shape(const OnnxSession& session, const Document& configs,
                                         std::size_t index) {
  const TensorSpec& spec = session.inputs()[index];
  const std::int64_t batched = batch_axis(configs, spec);
  std::vector<std::int64_t> shape = spec.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] >= 0) continue;
    const auto number = static_cast<std::int64_t>(axis);
    const std::string key = "model_info.input_shape." + spec.name + "." + std::to_string(axis);
    const std::int64_t told = configs.integer(key, -1);
    if (number == batched) {
      shape[axis] = kFreeBatch * samples_dim(configs, spec.name, number);
    } else {
      shape[axis] = told > 0 ? told : kFreeDim;
    }
  }
  return shape;
}

}  // namespace

SampleInputs zero_inputs(const OnnxSession& session, const Document& configs) {
  SampleInputs inputs;
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    const std::vector<std::int64_t> shape = concrete_shape(session, configs, i);
    std::size_t size_bytes = size_of(session.inputs()[i].dtype);
    for (const std::int64_t dim : shape) size_bytes *= static_cast<std::size_t>(dim);
    inputs.storage.emplace_back(std::max<std::size_t>(size_bytes, 1));
    inputs.values.push_back(Ort::Value::CreateTensor(host_memory(), inputs.storage.back().data(),
                                                     size_bytes, shape.data(), shape.size(),
                                                     session.input_types()[i]));
  }
  return inputs;
}

SampleInputs sample_inputs(const OnnxSession& session, const Document& configs, DataLoader& data) {
  const std::int64_t fixed = fixed_batch(session.inputs(), configs);
  const auto wanted = static_cast<std::uint64_t>(fixed > 0 ? fixed : kFreeBatch);
  const std::uint64_t count = fixed > 0 ? wanted : std::min(wanted, data.size());
  if (count > 0 && count <= data.size()) {
    SampleInputs inputs = borrow(session, data.read(0, count));
    if (!inputs.values.empty()) return inputs;
  }
  return zero_inputs(session, configs);
}

}  // namespace cpu
