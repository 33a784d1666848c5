#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "workload/model_info.h"

namespace assay::workload {

Result<Shape> batched_shape(const ModelInfo& info, std::size_t index, std::int64_t n) {
  const Shape& shape = info.inputs[index].shape;
  const std::optional<std::size_t>& axis = info.batch_axes[index];
  if (!axis) return shape;
  return with_batch(shape, n, *axis);
}

Json to_json(const ModelInfo& info) {
  std::string inputs;
  std::string types;
  Json shapes = Json::object();
  for (const TensorSpec& input : info.inputs) {
    inputs += (inputs.empty() ? "" : ",") + input.name;
    types += fmt::format("{}{}", types.empty() ? "" : ",", name_of(input.dtype));
    shapes[input.name] = input.shape;
  }
  Json json = {{"model", info.name},
               {"name", info.name},
               {"model_path", info.model_path.native()},
               {"framework", info.framework},
               {"framework_version", info.framework_version},
               {"model_format", info.model_format},
               {"model_precision", info.model_precision},
               {"inputs", inputs},
               {"outputs", fmt::format("{}", fmt::join(info.outputs, ","))},
               {"input_shape", shapes},
               {"input_type", types},
               {"dataset_name", info.dataset_name ? Json(*info.dataset_name) : Json()}};
  Json axes = Json::object();
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    axes[info.inputs[i].name] = info.batch_axes[i] ? Json(*info.batch_axes[i]) : Json();
  }
  json["batch_axes"] = axes;
  if (info.lossy_conversion) json["lossy_conversion"] = true;
  if (info.max_batch_size) json["max_batch_size"] = *info.max_batch_size;
  // What the file says beyond that goes on as it is.
  if (info.source) {
    for (const auto& member : info.source->value().items()) {
      if (member.key() != "$schema" && !json.contains(member.key())) {
        json[member.key()] = member.value();
      }
    }
  }
  return json;
}

}  // namespace assay::workload
