#pragma once

#include <cstdint>

#include "model/onnx_rounding.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace assay {

// Moves the weights that RoundingNoise::weights names, each tensor by its own seeded sequence, and
// says how many tensors it moved. Weights are initialisers and constants of the main graph that
// lie inside the file and reach such an operator directly or through operators that cannot round.
std::int64_t move_weights(onnx::ModelProto& proto, const RoundingNoise& noise);

}  // namespace assay
