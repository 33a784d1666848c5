#pragma once

#include <string>

#include "assay/backend.hpp"
#include "options.h"

namespace openvino {

// Compiles the model of `configs` for every batch size of the workload and returns the compile
// result. What artifact.h describes is left in `folder`, one in the artifact folder, or in that
// itself when it is "".
std::string compile_model(const assay::backend::Document& configs, assay::backend::DataLoader& data,
                          const assay::backend::CompileJob& job, const Options& options,
                          const std::string& folder);

}  // namespace openvino
