#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace assay {

// The files outside the model file that hold its tensors, each once, ordered by location. A
// location is relative to the folder of `model_path`, whatever the working directory is, and must
// stay inside it, links followed. kInvalidArgument for one that does not, kNotFound for a missing
// file, kDataLoss for one that is too short for a tensor in it; the tensor is named.
Result<std::vector<ExternalFile>> find_external_files(const onnx::ModelProto& proto,
                                                      const std::filesystem::path& model_path);

// Brings tensors that lie outside the model file into `proto`, so that it can be written anywhere.
// Errors as find_external_files; kResourceExhausted when they would not fit into one file (2 GiB).
Status embed_external_data(onnx::ModelProto& proto, const std::filesystem::path& model_path);

}  // namespace assay
