#pragma once

#include <string_view>

namespace assay::controller {

// The coarsest type that a backend's words for its precision name: "INT8", "FP8", "BF16", "FP16"
// (TF32 has as many significand bits) or "FP32". In any case, with anything between the names:
// "int8_mix", "FP16, FLOAT32". "" when they name none of these, or one that is coarser and of which
// we have no bound, such as INT4: it is not to be held to what stands beside it.
std::string_view coarsest_precision(std::string_view declared);

}  // namespace assay::controller
