#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/model.h"

namespace assay {

// read_model for ONNX; `path` is absolute and a regular file.
Result<ModelFile> read_onnx_model(const std::filesystem::path& path, const ModelLimits& limits);

}  // namespace assay
