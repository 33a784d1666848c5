#include "batch_trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "openvino_core.h"

namespace openvino {
namespace {

using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Inputs;
using Tensors = std::vector<ov::Tensor>;

constexpr std::int64_t kFreeDim = 8;
constexpr float kTolerance = 1e-4F;  // relative: batches may be summed in another order

ov::Shape concrete_shape(const ov::Output<const ov::Node>& port, const std::string& name,
                         const Document& configs) {
  ov::Shape shape;
  for (const std::int64_t dim : dims_of(port.get_partial_shape())) {
    const std::string key = "model_info.input_shape." + name + "." + std::to_string(shape.size());
    const std::int64_t told = configs.integer(key, -1);
    shape.push_back(static_cast<std::size_t>(dim >= 0 ? dim : told > 0 ? told : kFreeDim));
  }
  return shape;
}

// Values that differ from run to run; whole numbers stay small, since they may be indices.
void fill(ov::Tensor& tensor, std::size_t run) {
  if (tensor.get_element_type() == ov::element::f32) {
    float* const values = tensor.data<float>();
    for (std::size_t i = 0; i < tensor.get_size(); ++i) {
      values[i] = static_cast<float>(static_cast<int>((i * 37 + run * 11) % 101) - 50) / 50.0F;
    }
    return;
  }
  std::memset(tensor.data(), 0, tensor.get_byte_size());
  const std::size_t step = tensor.get_element_type().size();
  if (tensor.get_element_type().is_real()) return;
  auto* const bytes = static_cast<std::uint8_t*>(tensor.data());
  for (std::size_t i = 0; i < tensor.get_size(); ++i) bytes[i * step] = run > 0 ? 1 : 0;
}

// The data's samples of run `run`, when they are there and fit; else made-up values.
Tensors inputs_of_run(const ov::Model& model, const std::vector<std::string>& names,
                      std::int64_t batch, std::size_t run, const Document& configs,
                      DataLoader& data) {
  Tensors tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto port = model.input(i);
    tensors.emplace_back(port.get_element_type(), concrete_shape(port, names[i], configs));
    fill(tensors.back(), run);
  }
  const auto count = static_cast<std::uint64_t>(batch);
  if (data.size() < count * (run + 1)) return tensors;
  const Inputs read = data.read(count * run, count);
  for (std::size_t i = 0; i < read.size() && i < tensors.size(); ++i) {
    if (read[i].size_bytes() != tensors[i].get_byte_size()) return tensors;
  }
  for (std::size_t i = 0; i < read.size() && i < tensors.size(); ++i) {
    std::memcpy(tensors[i].data(), read[i].data<void>(), read[i].size_bytes());
  }
  return tensors;
}

// Batched inputs one after the other, the others as in the first.
Tensors joined(const Tensors& first, const Tensors& second, const std::vector<BatchAxis>& axes) {
  Tensors both = first;
  for (const BatchAxis& axis : axes) {
    const ov::Tensor& one = first[axis.input];
    ov::Shape shape = one.get_shape();
    shape[0] *= 2;
    ov::Tensor tensor(one.get_element_type(), shape);
    auto* const bytes = static_cast<std::byte*>(tensor.data());
    std::memcpy(bytes, one.data(), one.get_byte_size());
    std::memcpy(bytes + one.get_byte_size(), second[axis.input].data(), one.get_byte_size());
    both[axis.input] = tensor;
  }
  return both;
}

Tensors run(const std::shared_ptr<ov::Model>& model, const Tensors& inputs,
            const ov::AnyMap& settings) {
  ov::CompiledModel compiled = core().compile_model(model, kDevice, settings);
  ov::InferRequest request = compiled.create_infer_request();
  for (std::size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  request.infer();
  Tensors outputs;
  for (std::size_t i = 0; i < compiled.outputs().size(); ++i) {
    const ov::Tensor made = request.get_output_tensor(i);
    outputs.emplace_back(made.get_element_type(), made.get_shape());
    made.copy_to(outputs.back());
  }
  return outputs;
}

bool near(const void* a, const void* b, const ov::Tensor& like) {
  if (like.get_element_type() != ov::element::f32) {
    return std::memcmp(a, b, like.get_byte_size()) == 0;
  }
  const auto* const x = static_cast<const float*>(a);
  const auto* const y = static_cast<const float*>(b);
  float largest = 0;
  float apart = 0;
  for (std::size_t i = 0; i < like.get_size(); ++i) {
    if (std::isnan(x[i]) && std::isnan(y[i])) continue;
    largest = std::max(largest, std::abs(x[i]));
    apart = std::max(apart, std::isnan(x[i] - y[i]) ? INFINITY : std::abs(x[i] - y[i]));
  }
  return apart <= kTolerance * largest;
}

// "" when `both` holds `first`, then `second`.
std::string objection_to(const ov::Tensor& both, const ov::Tensor& first,
                         const ov::Tensor& second) {
  ov::Shape shape = first.get_shape();
  if (shape.empty()) return "has no batch dimension";
  shape[0] *= 2;
  if (both.get_shape() != shape) return "does not grow with the batch";
  const auto* const bytes = static_cast<const std::byte*>(both.data());
  if (near(bytes, first.data(), first) &&
      near(bytes + first.get_byte_size(), second.data(), second)) {
    return {};
  }
  return "has other values for two batches at once than one by one";
}

}  // namespace

std::string fixed_batch_objection(const ov::Model& model, const std::vector<BatchAxis>& axes,
                                  const Document& configs, DataLoader& data,
                                  const ov::AnyMap& settings) {
  std::vector<std::string> names(model.inputs().size());
  for (const BatchAxis& axis : axes) {
    names[axis.input] = axis.name;
    if (axis.axis != 0)
      return "the batch of input \"" + axis.name + "\" is not its first dimension";
  }
  const std::int64_t batch = fixed_batch(axes);
  try {
    const Tensors first = inputs_of_run(model, names, batch, 0, configs, data);
    const Tensors second = inputs_of_run(model, names, batch, 1, configs, data);
    const std::shared_ptr<ov::Model> as_it_is = model.clone();
    const Tensors one = run(as_it_is, first, settings);
    const Tensors other = run(as_it_is, second, settings);
    const Tensors both =
        run(with_batch(model, axes, 2 * batch), joined(first, second, axes), settings);
    bool apart = false;
    for (std::size_t i = 0; i < both.size(); ++i) {
      const std::string objection = objection_to(both[i], one[i], other[i]);
      if (!objection.empty()) return "output " + std::to_string(i) + " " + objection;
      apart = apart || !near(one[i].data(), other[i].data(), one[i]);
    }
    return apart ? "" : "two batches gave the same outputs, which shows nothing";
  } catch (const ov::Exception& e) {
    return "OpenVINO cannot reshape it: " + reason_of(e);
  }
}

}  // namespace openvino
