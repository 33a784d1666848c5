#pragma once

#include <vector>

#include "model/model.h"

namespace onnx {
class GraphProto;
}  // namespace onnx

namespace assay {

// One range per input of `signature`, in this order of preference:
//  1. masks, by name or by how they are used, are ones;
//  2. inputs that index a table (an embedding), directly or through operators that only move values
//     about, stay below its rows; of several tables, below the smallest;
//  3. what the dtype suggests: reals 0..1, bytes 0..255, other integers 0..1.
std::vector<InputRange> find_input_ranges(const onnx::GraphProto& graph,
                                          const Signature& signature);

}  // namespace assay
