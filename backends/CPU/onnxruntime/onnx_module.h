#pragma once

// ONNX models by ONNX Runtime: the module's three functions (module.h).

#include <memory>
#include <string>

#include "module.h"

namespace cpu {

std::string onnx_version();

// The artifact is a copy of the model and its external data. The model is really built and run once
// from it, which also tells the precision that is executed.
std::string compile_onnx(const assay::backend::Document& configs, assay::backend::DataLoader& data,
                         assay::backend::CompileJob& job, const CompileSetup& setup);

// Refuses a batch size that the model cannot take: a fixed batch is never fed another.
std::unique_ptr<Model> load_onnx(const assay::backend::LoadRequest& request,
                                 const Artifact& artifact, const LoadSetup& setup);

}  // namespace cpu
