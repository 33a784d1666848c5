#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "check/metrics.h"
#include "check/output_store.h"
#include "controller/evaluation.h"
#include "dataset/dataset.h"
#include "tensor/tensor.h"

namespace assay::controller {

// The outputs, by index, that hold a score for each position of the input to be an answer's first
// and its last. Both the same: one output of pairs [positions, 2].
struct SpanOutputs {
  std::size_t start = 0;
  std::size_t end = 0;
};

// The place of the output `name`. kInvalidArgument, with the nearest name, when there is none.
Result<std::size_t> named_output(std::span<const TensorSpec> outputs, const std::string& name);

// Those that `metric` names; else those with "start" and "end" in their names, one output of pairs,
// or the only two that there are. kInvalidArgument, naming both sides, when none of it fits or an
// output does not hold one score for each of `positions`.
Result<SpanOutputs> find_span_outputs(std::span<const TensorSpec> outputs, const MetricSpec& metric,
                                      std::size_t positions);

// Adds the answers to all questions whose windows are within the first `samples`. An answer is the
// text of the best span over all windows of its question, as it stands in the context; "" when
// there is none. Requires a metric of answers. kInvalidArgument when the data set asks no
// questions.
Status score_answers(check::OutputReader& reader, const dataset::Dataset& dataset,
                     std::uint64_t samples, const MetricSpec& metric, check::Metric& into);

}  // namespace assay::controller
