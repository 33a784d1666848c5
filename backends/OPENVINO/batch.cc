#include "batch.h"

#include <algorithm>
#include <map>

namespace openvino {

using assay::backend::Document;
using assay::backend::TensorSpec;

std::vector<BatchAxis> batch_axes_of(const std::vector<TensorSpec>& inputs,
                                     const Document& configs) {
  // A model info that speaks of axes names every input: a null there is no leaf with a value.
  const bool speaks_of_axes = configs.json().find("\"batch_axes\"") != std::string::npos;
  std::vector<BatchAxis> axes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& input = inputs[i];
    const std::int64_t axis =
        configs.integer("model_info.batch_axes." + input.name, speaks_of_axes ? -1 : 0);
    if (axis < 0 || axis >= static_cast<std::int64_t>(input.shape.size())) continue;
    const std::string rows_key =
        "model_info.input_shape." + input.name + "." + std::to_string(axis);
    axes.push_back({i, input.name, static_cast<std::size_t>(axis),
                    std::max<std::int64_t>(1, configs.integer(rows_key, 1)),
                    input.shape[static_cast<std::size_t>(axis)]});
  }
  return axes;
}

std::string batch_objection(const std::vector<BatchAxis>& axes, std::int64_t batch_size) {
  for (const BatchAxis& axis : axes) {
    const std::int64_t wanted = batch_size * axis.rows;
    if (axis.dim < 0 || axis.dim == wanted) continue;
    return "the model's batch is fixed: input \"" + axis.name + "\" has " +
           std::to_string(axis.dim) + " in dimension " + std::to_string(axis.axis) +
           ", a batch of " + std::to_string(batch_size) + " needs " + std::to_string(wanted);
  }
  return {};
}

std::int64_t fixed_batch(const std::vector<BatchAxis>& axes) {
  for (const BatchAxis& axis : axes) {
    if (axis.dim > 0) return std::max<std::int64_t>(1, axis.dim / axis.rows);
  }
  return 0;
}

std::shared_ptr<ov::Model> with_batch(const ov::Model& model, const std::vector<BatchAxis>& axes,
                                      std::int64_t batch_size) {
  std::shared_ptr<ov::Model> copy = model.clone();
  std::map<ov::Output<ov::Node>, ov::PartialShape> shapes;
  for (const BatchAxis& axis : axes) {
    const ov::Output<ov::Node> input = copy->input(axis.input);
    ov::PartialShape shape = input.get_partial_shape();
    shape[static_cast<std::ptrdiff_t>(axis.axis)] = batch_size * axis.rows;
    shapes[input] = shape;
  }
  if (!shapes.empty()) copy->reshape(shapes);
  return copy;
}

}  // namespace openvino
