#include "batch_rule.h"

#include <algorithm>

namespace cpu {

using assay::backend::Document;
using assay::backend::TensorSpec;

std::int64_t batch_axis(const Document& configs, const TensorSpec& input) {
  if (input.shape.empty()) return -1;
  // A model info that speaks of axes names every input: a null there is no leaf with a value.
  const std::string key = "model_info.batch_axes." + input.name;
  const bool speaks_of_axes = configs.json().find("\"batch_axes\"") != std::string::npos;
  const std::int64_t axis = configs.integer(key, speaks_of_axes ? -1 : 0);
  return axis < static_cast<std::int64_t>(input.shape.size()) ? axis : -1;
}

std::int64_t samples_dim(const Document& configs, const std::string& input, std::int64_t axis) {
  const std::string key = "model_info.input_shape." + input + "." + std::to_string(axis);
  return std::max<std::int64_t>(1, configs.integer(key, 1));
}

std::string batch_objection(const std::vector<TensorSpec>& inputs, const Document& configs,
                            std::int64_t batch_size) {
  for (const TensorSpec& input : inputs) {
    const std::int64_t axis = batch_axis(configs, input);
    if (axis < 0) continue;
    const std::int64_t dim = input.shape[static_cast<std::size_t>(axis)];
    const std::int64_t wanted = batch_size * samples_dim(configs, input.name, axis);
    if (dim < 0 || dim == wanted) continue;
    return "the model's batch is fixed: input \"" + input.name + "\" has " + std::to_string(dim) +
           " in dimension " + std::to_string(axis) + ", a batch of " + std::to_string(batch_size) +
           " needs " + std::to_string(wanted) + "; export it with a free batch dimension, or run " +
           "batch size " + std::to_string(std::max<std::int64_t>(1, fixed_batch(inputs, configs)));
  }
  return {};
}

std::int64_t fixed_batch(const std::vector<TensorSpec>& inputs, const Document& configs) {
  for (const TensorSpec& input : inputs) {
    const std::int64_t axis = batch_axis(configs, input);
    if (axis < 0) continue;
    const std::int64_t dim = input.shape[static_cast<std::size_t>(axis)];
    if (dim > 0) return std::max<std::int64_t>(1, dim / samples_dim(configs, input.name, axis));
  }
  return 0;
}

}  // namespace cpu
