#include "loaded_model.h"

#include <cstring>
#include <fstream>
#include <openvino/runtime/properties.hpp>
#include <string>
#include <utility>

#include "batch.h"
#include "openvino_core.h"
#include "options.h"

namespace openvino {
namespace {

using assay::backend::Error;
using assay::backend::Inputs;
using assay::backend::LoadRequest;
using assay::backend::Outputs;
using assay::backend::Signature;
using assay::backend::TensorSpec;

// A tensor over memory of somebody else. Without elements it may come without memory.
ov::Tensor tensor_over(const ov::element::Type& type, const ov::Shape& shape, void* data) {
  static char nothing = 0;
  return {type, shape, data != nullptr ? data : &nothing};
}

std::vector<std::int64_t> signed_shape(const ov::Shape& shape) {
  return {shape.begin(), shape.end()};
}

TensorSpec spec_of(const ov::Output<const ov::Node>& port, const std::string& name) {
  return {name, dtype_of(port.get_element_type(), name), dims_of(port.get_partial_shape())};
}

void check_counts(const ov::CompiledModel& model, const Artifact& artifact) {
  if (model.inputs().size() == artifact.inputs.size() &&
      model.outputs().size() == artifact.outputs.size()) {
    return;
  }
  throw Error(ASSAY_DATA_LOSS, "the compiled object has " + std::to_string(model.inputs().size()) +
                                   " inputs and " + std::to_string(model.outputs().size()) +
                                   " outputs, options.json names " +
                                   std::to_string(artifact.inputs.size()) + " and " +
                                   std::to_string(artifact.outputs.size()));
}

ov::CompiledModel import_object(const std::string& path, const ov::AnyMap& settings) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "the artifact has no " + path);
  try {
    return core().import_model(file, kDevice, settings);
  } catch (const ov::Exception& e) {
    throw as_error(ASSAY_DATA_LOSS, "importing " + path, e);
  }
}

std::vector<TensorSpec> named_inputs(const ov::Model& model, const Artifact& artifact) {
  std::vector<TensorSpec> inputs;
  for (std::size_t i = 0; i < model.inputs().size() && i < artifact.inputs.size(); ++i) {
    inputs.push_back(spec_of(model.input(i), artifact.inputs[i]));
  }
  return inputs;
}

ov::CompiledModel compile_for(const LoadRequest& request, const Artifact& artifact,
                              const ov::AnyMap& settings) {
  const std::string path = request.path(artifact.model);
  try {
    const std::shared_ptr<ov::Model> model = core().read_model(path);
    const auto axes = batch_axes_of(named_inputs(*model, artifact), request.configs);
    const std::string objection = batch_objection(axes, request.batch_size);
    if (!objection.empty() && !artifact.follows_batch) {
      throw Error(ASSAY_INVALID_ARGUMENT,
                  objection + "; run batch size " + std::to_string(fixed_batch(axes)));
    }
    return core().compile_model(with_batch(*model, axes, request.batch_size), kDevice, settings);
  } catch (const ov::Exception& e) {
    throw as_error(ASSAY_INVALID_ARGUMENT,
                   "compiling for batch size " + std::to_string(request.batch_size), e);
  }
}

void check_precision(const ov::CompiledModel& model, const Artifact& artifact) {
  const std::string loaded = model.get_property(ov::hint::inference_precision).get_type_name();
  if (loaded == artifact.precision) return;
  throw Error(ASSAY_INTERNAL,
              "compiled for " + artifact.precision + ", but OpenVINO loaded it for " + loaded);
}

ov::CompiledModel load_compiled(const LoadRequest& request, const Artifact& artifact, int cpus) {
  check_fits_here(artifact);
  const ov::AnyMap settings = settings_of(artifact.options, cpus);
  const CompiledBatch* const object = artifact.object_for(request.batch_size);
  ov::CompiledModel model = object != nullptr ? import_object(request.path(object->file), settings)
                                              : compile_for(request, artifact, settings);
  check_precision(model, artifact);
  return model;
}

}  // namespace

LoadedModel::LoadedModel(const ov::CompiledModel& model, const Artifact& artifact)
    : requests_(model) {
  check_counts(model, artifact);
  for (std::size_t i = 0; i < artifact.inputs.size(); ++i) {
    const auto port = model.input(i);
    signature_.inputs.push_back(spec_of(port, artifact.inputs[i]));
    input_types_.push_back(port.get_element_type());
  }
  for (std::size_t i = 0; i < artifact.outputs.size(); ++i) {
    const auto port = model.output(i);
    const ov::PartialShape& shape = port.get_partial_shape();
    signature_.outputs.push_back(spec_of(port, artifact.outputs[i]));
    output_types_.push_back(port.get_element_type());
    output_shapes_.push_back(shape.is_static() ? std::optional(shape.to_shape()) : std::nullopt);
  }
}

void LoadedModel::copy_output(std::size_t index, const ov::Tensor& tensor, Outputs& outputs) {
  const std::vector<std::int64_t> shape = signed_shape(tensor.get_shape());
  void* const memory = outputs.allocate(index, shape.data(), shape.size());
  if (tensor.get_byte_size() > 0) std::memcpy(memory, tensor.data(), tensor.get_byte_size());
}

void LoadedModel::predict(const Inputs& inputs, Outputs& outputs) {
  ov::InferRequest request = requests_.take();
  try {
    for (std::size_t i = 0; i < input_types_.size(); ++i) {
      const assay::backend::Tensor input = inputs[i];
      request.set_input_tensor(
          i, tensor_over(input_types_[i], ov::Shape(input.shape(), input.shape() + input.rank()),
                         const_cast<void*>(input.data<void>())));
    }
    for (std::size_t i = 0; i < output_types_.size(); ++i) {
      if (!output_shapes_[i]) continue;
      const std::vector<std::int64_t> shape = signed_shape(*output_shapes_[i]);
      request.set_output_tensor(i, tensor_over(output_types_[i], *output_shapes_[i],
                                               outputs.allocate(i, shape.data(), shape.size())));
    }
    request.infer();
    for (std::size_t i = 0; i < output_types_.size(); ++i) {
      if (!output_shapes_[i]) copy_output(i, request.get_output_tensor(i), outputs);
    }
  } catch (const ov::Exception& e) {
    throw as_error(ASSAY_INTERNAL, "running", e);
  }
  requests_.give_back(std::move(request));
}

std::unique_ptr<LoadedModel> load_model(const LoadRequest& request) {
  const Artifact artifact = read_artifact(request.artifact_folder);
  const int cpus =
      request.cpus.empty() ? usable_cpu_count() : static_cast<int>(request.cpus.size());
  try {
    return std::make_unique<LoadedModel>(load_compiled(request, artifact, cpus), artifact);
  } catch (const ov::Exception& e) {
    throw as_error(ASSAY_INTERNAL, "loading", e);
  }
}

}  // namespace openvino
