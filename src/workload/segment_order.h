#pragma once

// A model that was compiled in several segments is a graph of them, joined by the names of tensors.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "workload/compile_result.h"

namespace assay::workload {

// The model as a whole: what goes in, with shapes at batch 1 where they are known, and what has to
// come out.
struct ModelEnds {
  TensorMap inputs;
  std::vector<std::string> outputs;
};

// The same as model_info in a backend's `configs` has it; what is missing there is empty.
ModelEnds model_ends(const Json& model_info);

// Positions in `segments`, in an order in which each has its inputs when its turn comes; of several
// the one that is named first. A result of one segment, whose maps may be loose, is not looked at.
// kInvalidArgument, with every problem and both of its sides: a segment without inputs or outputs,
// a tensor that two give or nobody, a model output that nobody gives, shapes that differ beyond the
// batch, and segments that wait for each other.
Result<std::vector<std::size_t>> order_segments(std::span<const Segment> segments,
                                                const ModelEnds& model);

}  // namespace assay::workload
