#include "signature.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "answer.h"
#include "element.h"

namespace kserve {
namespace {

using assay::backend::DType;
using assay::backend::Error;
using assay::backend::Signature;
using assay::backend::TensorSpec;

// A list, or text with commas.
std::vector<std::string> names_in(const Json& model_info, const char* key) {
  if (!model_info.contains(key)) return {};
  const Json& value = model_info[key];
  if (value.is_array()) return value.get<std::vector<std::string>>();
  std::vector<std::string> names;
  std::istringstream text(value.get<std::string>());
  for (std::string name; std::getline(text, name, ',');) {
    const std::size_t first = name.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    names.push_back(name.substr(first, name.find_last_not_of(' ') + 1 - first));
  }
  return names;
}

std::optional<std::vector<std::int64_t>> shape_in(const Json& model_info, const std::string& name) {
  if (!model_info.contains("input_shape") || !model_info["input_shape"].contains(name)) return {};
  return model_info["input_shape"][name].get<std::vector<std::int64_t>>();
}

// -1 for an input without one.
std::int64_t batch_axis(const Json& model_info, const std::string& name) {
  if (!model_info.contains("batch_axes") || !model_info["batch_axes"].contains(name)) return 0;
  const Json& axis = model_info["batch_axes"][name];
  return axis.is_null() ? -1 : axis.get<std::int64_t>();
}

[[noreturn]] void contradict(const std::string& server, const std::string& info) {
  throw Error(ASSAY_INVALID_ARGUMENT,
              "the server's model has " + server + ", the model info has " + info);
}

const TensorSpec* named(const std::vector<TensorSpec>& specs, const std::string& name) {
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const TensorSpec& spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

std::string quoted_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "\"" : ", \"") + name + '"';
  return text;
}

void check_shape(const TensorSpec& spec, const std::vector<std::int64_t>& shape,
                 std::int64_t batch_axis) {
  bool fits = spec.shape.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    const bool batch = static_cast<std::int64_t>(i) == batch_axis;
    fits = batch || shape[i] < 0 || spec.shape[i] < 0 || shape[i] == spec.shape[i];
  }
  if (fits) return;
  contradict("input \"" + spec.name + "\" of shape " + shape_text(spec.shape), shape_text(shape));
}

void check_inputs(const std::vector<TensorSpec>& inputs, const Json& model_info) {
  const std::vector<std::string> names = names_in(model_info, "inputs");
  const std::vector<std::string> types = names_in(model_info, "input_type");
  if (!names.empty() && names.size() != inputs.size()) {
    contradict("inputs " + described(inputs), quoted_names(names));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const TensorSpec* const spec = named(inputs, names[i]);
    if (spec == nullptr) contradict("inputs " + described(inputs), quoted_names(names));
    if (i < types.size() && types[i] != assay_name(spec->dtype)) {
      contradict("input \"" + names[i] + "\" as " + assay_name(spec->dtype), types[i]);
    }
    const auto shape = shape_in(model_info, names[i]);
    if (shape) check_shape(*spec, *shape, batch_axis(model_info, names[i]));
  }
}

void check_outputs(const std::vector<TensorSpec>& outputs, const Json& model_info) {
  const std::vector<std::string> names = names_in(model_info, "outputs");
  for (const std::string& name : names) {
    if (named(outputs, name) == nullptr) {
      contradict("outputs " + described(outputs), quoted_names(names));
    }
  }
}

std::vector<TensorSpec> inputs_of_info(const Json& model_info) {
  std::vector<TensorSpec> inputs;
  const std::vector<std::string> names = names_in(model_info, "inputs");
  const std::vector<std::string> types = names_in(model_info, "input_type");
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto shape = shape_in(model_info, names[i]);
    if (!shape || i >= types.size()) {
      throw Error(ASSAY_INVALID_ARGUMENT,
                  "the server declares no inputs, and the model info has "
                  "no shape or type of input \"" +
                      names[i] + '"');
    }
    const std::int64_t axis = batch_axis(model_info, names[i]);
    if (axis >= 0 && axis < static_cast<std::int64_t>(shape->size())) {
      (*shape)[static_cast<std::size_t>(axis)] = -1;
    }
    inputs.push_back({names[i], dtype_named(types[i], "input \"" + names[i] + '"'), *shape});
  }
  if (!inputs.empty()) return inputs;
  throw Error(ASSAY_INVALID_ARGUMENT,
              "neither the server's metadata nor the model info names the model's inputs");
}

Json specs_json(const std::vector<TensorSpec>& specs) {
  Json list = Json::array();
  for (const TensorSpec& spec : specs) {
    list.push_back(
        {{"name", spec.name}, {"datatype", wire_name(spec.dtype)}, {"shape", spec.shape}});
  }
  return list;
}

std::vector<TensorSpec> specs_from_json(const Json& json) {
  std::vector<TensorSpec> specs;
  for (const Json& one : json) {
    specs.push_back({one.at("name").get<std::string>(),
                     dtype_of(one.at("datatype").get<std::string>(), "artifact"),
                     one.at("shape").get<std::vector<std::int64_t>>()});
  }
  return specs;
}

}  // namespace

Signature agreed_signature(const Signature& server, const Json& model_info) {
  Signature agreed = server;
  if (agreed.inputs.empty()) {
    agreed.inputs = inputs_of_info(model_info);
  } else {
    check_inputs(agreed.inputs, model_info);
  }
  if (!agreed.outputs.empty()) check_outputs(agreed.outputs, model_info);
  return agreed;
}

std::vector<std::int64_t> trial_shape(const TensorSpec& input, const Json& model_info) {
  const auto known = shape_in(model_info, input.name);
  std::vector<std::int64_t> shape = input.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0) continue;
    shape[i] = known && i < known->size() ? std::max<std::int64_t>(1, (*known)[i]) : 1;
  }
  return shape;
}

Json to_json(const Signature& signature) {
  return {{"inputs", specs_json(signature.inputs)}, {"outputs", specs_json(signature.outputs)}};
}

Signature signature_from_json(const Json& json) {
  return {specs_from_json(json.at("inputs")), specs_from_json(json.at("outputs"))};
}

std::string described(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) {
    text += (text.empty() ? "\"" : "; \"") + spec.name + "\" " + wire_name(spec.dtype) + ' ' +
            shape_text(spec.shape);
  }
  return text;
}

}  // namespace kserve
