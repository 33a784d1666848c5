#pragma once

// What a TorchScript file does not say of itself: the model info's names, dtypes and shapes, and
// what running it shows.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "executed_precision.h"
#include "libtorch/script.h"

namespace cpu {

struct ScriptSignature {
  assay::backend::Signature signature;
  std::vector<std::size_t> order;  // the input that each argument of forward gets
  std::vector<std::string> keys;   // of the outputs, where forward returns a dict; else ""
  std::int64_t fixed_batch = 0;    // the only one that forward takes; 0: any
};

// Inputs as the model info has them, outputs as runs at one and at two samples show them: what
// differs between the two follows the batch. Throws ASSAY_INVALID_ARGUMENT where model info and
// forward do not agree, with both sides.
ScriptSignature learn_signature(const Script& script, const assay::backend::Document& configs);

// What forward executes for one sample.
ExecutedPrecision executed_by(const Script& script, const ScriptSignature& signature,
                              const assay::backend::Document& configs);

// Beside the model in the artifact.
void write_signature(const std::string& path, const ScriptSignature& signature);
// Throws ASSAY_DATA_LOSS when it is not ours.
ScriptSignature read_signature(const std::string& path);

}  // namespace cpu
