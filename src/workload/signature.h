#pragma once

// What model info says, held against what the model itself says; and model info made from that
// alone.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "workload/model_info.h"

namespace assay::workload {

// Holds model info against the model's signature. Every contradiction (name, dtype, rank,
// dimension, layout, missing input or output) in one kInvalidArgument that names both sides. In a
// published file of the old form each becomes a warning, and the model's own side is taken.
// Dimensions that the file leaves free and the model fixes are filled in.
Status check_against_signature(ModelInfo& info, const ModelFile& model);

// Samples per batch when the model fixes them; none when the batch is free. Call after
// check_against_signature.
std::optional<std::int64_t> fixed_batch(const ModelInfo& info, const Signature& signature);

// Value for a free dimension, by its name, or by "input.axis" ("ids.1") where it has none.
struct DimensionChoice {
  std::string name;
  std::int64_t value = 1;
};

// "seq=128" -> {"seq", 128}. kInvalidArgument.
Result<DimensionChoice> parse_dimension_choice(const std::string& option);

// Model info of a model that has no file of its own (`--model my.onnx`). The first dimension of an
// input, when free, is the batch. Other free dimensions take `choices`; one that has a name takes 1
// without a choice, and a warning says so; those without a name and a choice are an error that
// lists every one, with an example of how to give them.
Result<ModelInfo> model_info_from_signature(const ModelFile& model,
                                            const std::vector<DimensionChoice>& choices);

}  // namespace assay::workload
