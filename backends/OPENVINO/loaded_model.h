#pragma once

#include <cstddef>
#include <memory>
#include <openvino/runtime/compiled_model.hpp>
#include <optional>
#include <vector>

#include "artifact.h"
#include "assay/backend.hpp"
#include "request_pool.h"

namespace openvino {

// A compiled model that is ready to run. Any number of threads may predict at once.
class LoadedModel {
 public:
  // Throws ASSAY_DATA_LOSS when the artifact's names are not those of `model`.
  LoadedModel(const ov::CompiledModel& model, const Artifact& artifact);

  const assay::backend::Signature& signature() const { return signature_; }

  // Reads and writes the host's memory itself; only outputs whose shape the model does not tell
  // beforehand are copied once.
  void predict(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs);

 private:
  void copy_output(std::size_t index, const ov::Tensor& tensor, assay::backend::Outputs& outputs);

  assay::backend::Signature signature_;
  std::vector<ov::element::Type> input_types_;
  std::vector<ov::element::Type> output_types_;
  std::vector<std::optional<ov::Shape>> output_shapes_;  // none: known after the run only
  RequestPool requests_;
};

// The model of the artifact in request.artifact_folder for request.batch_size: the compiled object,
// or, when it was not compiled for this size, compiled now with the same settings. Throws what is
// against it.
std::unique_ptr<LoadedModel> load_model(const assay::backend::LoadRequest& request);

}  // namespace openvino
