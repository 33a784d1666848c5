#include "libtorch/signature.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "batch_rule.h"
#include "compile_result.h"

namespace cpu {
namespace {

using assay::backend::Document;
using assay::backend::DType;
using assay::backend::Error;
using assay::backend::Signature;
using assay::backend::Tensor;
using assay::backend::TensorSpec;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kFreeDim = 8;
constexpr std::array kDTypes = {
    DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16, DType::kFloat8E4M3,
    DType::kInt64,   DType::kInt32,   DType::kInt16,   DType::kInt8,     DType::kUInt8,
    DType::kBool,    DType::kUInt16,  DType::kUInt32,  DType::kUInt64};

DType dtype_named(const std::string& name) {
  for (const DType dtype : kDTypes) {
    if (name == name_of(dtype)) return dtype;
  }
  throw Error(ASSAY_INVALID_ARGUMENT, "\"input_type\": " + name + " is no dtype");
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::stringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    part.erase(part.find_last_not_of(' ') + 1);
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

std::vector<TensorSpec> inputs_of(const Document& configs) {
  const std::vector<std::string> names = split(configs.text("model_info.inputs", ""));
  const std::vector<std::string> types = split(configs.text("model_info.input_type", ""));
  const Json info = Json::parse(configs.json()).value("model_info", Json::object());
  const Json shapes = info.value("input_shape", Json::object());
  if (names.empty() || names.size() != types.size()) {
    throw Error(ASSAY_INVALID_ARGUMENT,
                "TorchScript does not name its inputs, so the model info has to: \"inputs\" has " +
                    joined(names) + "; \"input_type\" has " + joined(types));
  }
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!shapes.contains(names[i])) {
      throw Error(ASSAY_INVALID_ARGUMENT, "\"input_shape\" has no shape of input " + names[i]);
    }
    specs.push_back(
        {names[i], dtype_named(types[i]), shapes[names[i]].get<std::vector<std::int64_t>>()});
  }
  return specs;
}

// By name where the model info has forward's own names, else by place.
std::vector<std::size_t> order_of(const Script& script, const std::vector<TensorSpec>& inputs) {
  const std::vector<std::string> arguments = script.argument_names();
  std::vector<std::string> names;
  for (const TensorSpec& input : inputs) names.push_back(input.name);
  if (inputs.size() < script.required_arguments() || inputs.size() > arguments.size()) {
    throw Error(ASSAY_INVALID_ARGUMENT, "the model info's inputs are " + joined(names) +
                                            "; the model's forward takes " + joined(arguments));
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), arguments[i]);
    if (found != names.end()) order.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  if (order.size() == inputs.size()) return order;
  order.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) order.push_back(i);
  return order;
}

// Zeros, which every index may be, for `batch_size` samples; in forward's order.
class ZeroInputs {
 public:
  ZeroInputs(const std::vector<TensorSpec>& inputs, const std::vector<std::size_t>& order,
             const Document& configs, std::int64_t batch_size) {
    shapes_.reserve(inputs.size());
    storage_.reserve(inputs.size());
    tensors_.reserve(inputs.size());
    for (const std::size_t index : order) add(inputs[index], configs, batch_size);
    for (const assay_tensor& tensor : tensors_) views_.emplace_back(tensor);
  }
  const std::vector<Tensor>& views() const { return views_; }

 private:
  void add(const TensorSpec& input, const Document& configs, std::int64_t batch_size) {
    std::vector<std::int64_t>& shape = shapes_.emplace_back(input.shape);
    const std::int64_t batched = batch_axis(configs, input);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto number = static_cast<std::int64_t>(axis);
      if (number == batched) {
        shape[axis] = batch_size * samples_dim(configs, input.name, number);
      } else if (shape[axis] < 0) {
        shape[axis] = kFreeDim;
      }
    }
    std::size_t size_bytes = size_of(input.dtype);
    for (const std::int64_t dim : shape) size_bytes *= static_cast<std::size_t>(dim);
    storage_.emplace_back(std::max<std::size_t>(size_bytes, 1));
    assay_tensor& tensor = tensors_.emplace_back();
    tensor.name = input.name.c_str();
    tensor.dtype = static_cast<std::uint32_t>(input.dtype);
    tensor.rank = static_cast<std::uint32_t>(shape.size());
    tensor.shape = shape.data();
    tensor.data = storage_.back().data();
    tensor.size_bytes = size_bytes;
  }

  std::vector<std::vector<std::int64_t>> shapes_;
  std::vector<std::vector<std::byte>> storage_;
  std::vector<assay_tensor> tensors_;
  std::vector<Tensor> views_;
};

std::string described(const std::vector<TensorSpec>& inputs) {
  std::string text;
  for (const TensorSpec& input : inputs) {
    text += (text.empty() ? "" : ", ") + input.name + " " + name_of(input.dtype) + " [";
    for (std::size_t i = 0; i < input.shape.size(); ++i) {
      text += (i == 0 ? "" : ", ") + std::to_string(input.shape[i]);
    }
    text += "]";
  }
  return text;
}

ScriptOutputs run_zeros(const Script& script, const ScriptSignature& signature,
                        const Document& configs, std::int64_t batch_size) {
  const ZeroInputs zeros(signature.signature.inputs, signature.order, configs, batch_size);
  return script.run(zeros.views());
}

ScriptOutputs run_one(const Script& script, const ScriptSignature& signature,
                      const Document& configs) {
  try {
    return run_zeros(script, signature, configs, 1);
  } catch (const Error& e) {
    throw Error(ASSAY_INVALID_ARGUMENT, "a run with the model info's inputs, " +
                                            described(signature.signature.inputs) +
                                            ", failed: " + e.what());
  }
}

// Names of the outputs by the model info, their keys where forward returns a dict.
void name_outputs(const ScriptOutputs& outputs, const Document& configs,
                  ScriptSignature& signature) {
  std::vector<std::string> names = split(configs.text("model_info.outputs", ""));
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < outputs.size(); ++i) keys.push_back(outputs.key(i));
  const bool keyed = std::find(keys.begin(), keys.end(), "") == keys.end();
  if (names.empty() && keyed) names = keys;
  if (names.empty()) {
    for (std::size_t i = 0; i < keys.size(); ++i) names.push_back("output_" + std::to_string(i));
  }
  const bool by_key = keyed && std::all_of(names.begin(), names.end(), [&](const auto& name) {
                        return std::find(keys.begin(), keys.end(), name) != keys.end();
                      });
  if (names.size() != keys.size() && !by_key) {
    throw Error(ASSAY_INVALID_ARGUMENT,
                "the model info's outputs are " + joined(names) + "; the model's forward returns " +
                    std::to_string(keys.size()) + (keyed ? ": " + joined(keys) : ""));
  }
  for (const std::string& name : names) {
    signature.signature.outputs.push_back({name, DType::kFloat32, {}});
    signature.keys.push_back(by_key ? name : "");
  }
}

std::size_t place_of(const ScriptOutputs& outputs, const std::string& key, std::size_t index) {
  if (key.empty()) return index;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs.key(i) == key) return i;
  }
  return outputs.size();
}

// Two samples as well? What of the outputs follows them?
void learn_batch(const Script& script, const Document& configs, ScriptSignature& signature) {
  std::vector<TensorSpec>& inputs = signature.signature.inputs;
  std::optional<ScriptOutputs> two;
  try {
    two.emplace(run_zeros(script, signature, configs, 2));
  } catch (const Error&) {
    signature.fixed_batch = 1;
    return;
  }
  for (TensorSpec& input : inputs) {
    const std::int64_t axis = batch_axis(configs, input);
    if (axis >= 0) input.shape[static_cast<std::size_t>(axis)] = -1;
  }
  for (std::size_t i = 0; i < signature.keys.size(); ++i) {
    std::vector<std::int64_t>& shape = signature.signature.outputs[i].shape;
    const auto other = two->shape(place_of(*two, signature.keys[i], i));
    if (other.size() != shape.size()) continue;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (other[axis] != shape[axis]) shape[axis] = -1;
    }
  }
}

Json specs_json(const std::vector<TensorSpec>& specs) {
  Json list = Json::array();
  for (const TensorSpec& spec : specs) {
    list.push_back({{"name", spec.name}, {"dtype", name_of(spec.dtype)}, {"shape", spec.shape}});
  }
  return list;
}

std::vector<TensorSpec> specs_from(const Json& list) {
  std::vector<TensorSpec> specs;
  for (const Json& each : list) {
    specs.push_back({each.at("name").get<std::string>(),
                     dtype_named(each.at("dtype").get<std::string>()),
                     each.at("shape").get<std::vector<std::int64_t>>()});
  }
  return specs;
}

}  // namespace

ScriptSignature learn_signature(const Script& script, const Document& configs) {
  ScriptSignature learnt;
  learnt.signature.inputs = inputs_of(configs);
  learnt.order = order_of(script, learnt.signature.inputs);
  const ScriptOutputs one = run_one(script, learnt, configs);
  name_outputs(one, configs, learnt);
  for (std::size_t i = 0; i < learnt.keys.size(); ++i) {
    const std::size_t place = place_of(one, learnt.keys[i], i);
    learnt.signature.outputs[i].dtype = one.dtype(place);
    learnt.signature.outputs[i].shape = one.shape(place);
  }
  learn_batch(script, configs, learnt);
  // A dimension that is free in the inputs may be one of the outputs too.
  const bool free = std::any_of(learnt.signature.inputs.begin(), learnt.signature.inputs.end(),
                                [&](const TensorSpec& input) {
                                  const std::int64_t axis = batch_axis(configs, input);
                                  for (std::size_t i = 0; i < input.shape.size(); ++i) {
                                    if (input.shape[i] < 0 && static_cast<std::int64_t>(i) != axis)
                                      return true;
                                  }
                                  return false;
                                });
  if (free) {
    for (TensorSpec& output : learnt.signature.outputs) {
      for (std::int64_t& dim : output.shape) dim = -1;
    }
  }
  return learnt;
}

ExecutedPrecision executed_by(const Script& script, const ScriptSignature& signature,
                              const Document& configs) {
  const ZeroInputs zeros(signature.signature.inputs, signature.order, configs, 1);
  return script.record(zeros.views());
}

void write_signature(const std::string& path, const ScriptSignature& signature) {
  const Json json = {{"inputs", specs_json(signature.signature.inputs)},
                     {"outputs", specs_json(signature.signature.outputs)},
                     {"order", signature.order},
                     {"keys", signature.keys},
                     {"fixed_batch", signature.fixed_batch}};
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw Error(ASSAY_RESOURCE_EXHAUSTED, "cannot write " + path);
}

ScriptSignature read_signature(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "the artifact has no " + path);
  try {
    const Json json = Json::parse(file);
    ScriptSignature signature;
    signature.signature = {specs_from(json.at("inputs")), specs_from(json.at("outputs"))};
    signature.order = json.at("order").get<std::vector<std::size_t>>();
    signature.keys = json.at("keys").get<std::vector<std::string>>();
    signature.fixed_batch = json.at("fixed_batch").get<std::int64_t>();
    return signature;
  } catch (const nlohmann::json::exception& e) {
    throw Error(ASSAY_DATA_LOSS, path + " was not written by this backend: " + e.what());
  }
}

}  // namespace cpu
