#pragma once

// Outputs of a few samples, read from stores for the probe of the pipeline. Internal to controller.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "check/pipeline_fit.h"
#include "check/pipeline_hypotheses.h"
#include "controller/evaluation.h"
#include "tensor/tensor.h"

namespace assay::controller {

// The floating outputs of two stores, in the reference's order.
struct ProbedOutputs {
  std::vector<TensorSpec> specs;
  std::size_t values = 0;  // of one sample, all outputs together
  // The output of class scores, one row a sample.
  std::optional<std::size_t> scores;
};
Result<ProbedOutputs> probed_outputs(const std::filesystem::path& reference,
                                     const std::filesystem::path& tested,
                                     const std::optional<MetricSpec>& metric);

// Whether so many samples tell hypotheses apart: of two samples with one value each, one hypothesis
// in twenty that matter as much as the error restores agreement by chance.
bool can_tell(const ProbedOutputs& outputs, std::size_t samples);

// Those outputs of these samples, one Answers per output.
Result<std::vector<check::Answers>> read_answers(const std::filesystem::path& store,
                                                 const ProbedOutputs& outputs,
                                                 std::span<const std::size_t> samples);

// What the rows hold: as the metric says, else as they look.
check::RowValues row_values(const check::Answers& reference,
                            const std::optional<MetricSpec>& metric);

// Every row changed; with its mean taken away when `without_offset`.
check::Answers predicted_answers(const check::Answers& reference,
                                 const check::OutputHypothesis& hypothesis);
check::Answers without_offset(check::Answers answers);

}  // namespace assay::controller
