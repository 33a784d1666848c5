#pragma once

// The compile result of any of the CPU backend's runtimes.

#include <cstdint>
#include <optional>
#include <string>

#include "assay/backend.hpp"
#include "executed_precision.h"
#include "options.h"

namespace cpu {

// "FLOAT32", the name in compile results.
const char* name_of(assay::backend::DType dtype);

// What compiling found out.
struct CompileFacts {
  assay::backend::Signature signature;
  std::int64_t fixed_batch = 0;                // the only one that the model takes; 0: any
  std::string framework;                       // where the model info names none
  std::optional<ExecutedPrecision> precision;  // none: there was no run to see it in
  std::string precision_source;                // "by ONNX Runtime's profile of one run"
  std::string trial_failure;                   // why there was none
};

std::string compile_result(const assay::backend::Document& configs, const Artifact& artifact,
                           const CompileFacts& facts);

}  // namespace cpu
