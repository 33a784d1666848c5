#pragma once

#include <string>

#include "assay/backend.hpp"
#include "options.h"

namespace graphcore {

// Lowers the model of `configs`, plans its memory, leaves the artifact (artifact.h) in the job's
// folder and returns the compile result. The same bytes for the same model, options and version.
std::string compile_model(const assay::backend::Document& configs, assay::backend::DataLoader& data,
                          const assay::backend::CompileJob& job, const Options& options);

// Of this backend and what it runs on, for reports and cache keys.
std::string toolchain_text();

}  // namespace graphcore
