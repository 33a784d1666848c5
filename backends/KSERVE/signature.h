#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "options.h"

namespace kserve {

// The signature of the server's model, held against the model info. What the server does not
// declare is taken from the model info, with the batch dimension free. Throws
// ASSAY_INVALID_ARGUMENT naming both sides where they contradict each other: names, dtypes, shapes.
// Outputs are empty when neither side knows them.
assay::backend::Signature agreed_signature(const assay::backend::Signature& server,
                                           const Json& model_info);

// The shape for a trial: free dimensions as model_info.input_shape has them, otherwise 1.
std::vector<std::int64_t> trial_shape(const assay::backend::TensorSpec& input,
                                      const Json& model_info);

Json to_json(const assay::backend::Signature& signature);
// Throws nlohmann's or the backend's errors when `json` is not what to_json wrote.
assay::backend::Signature signature_from_json(const Json& json);

// "\"x\" FP32 [-1,3]; \"y\" ..."
std::string described(const std::vector<assay::backend::TensorSpec>& specs);

}  // namespace kserve
