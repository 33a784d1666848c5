#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "check/accuracy_verdict.h"
#include "check/answer_span.h"
#include "check/metrics.h"
#include "check/numeric.h"
#include "dataset/dataset.h"

namespace assay::controller {

// What a model info says about how its outputs are scored.
struct MetricSpec {
  std::string name;    // "top1", "auc", ...
  std::string output;  // the output that holds the scores; "": the first
  check::Scores scores = check::Scores::kLogits;
  // Metrics of answers: the outputs that hold the start and the end scores; "": found by
  // find_span_outputs.
  std::string start_output;
  std::string end_output;
  check::SpanOptions span;
};

// nullopt when `metric` is null: nothing to score. kInvalidArgument for an unknown metric or key.
Result<std::optional<MetricSpec>> parse_metric(const Json& metric);

// Scores the first `samples` of a data set by the outputs in a store. Answers are scored by
// question: the best span of all its windows counts, as the text that it stands for.
Result<check::AccuracyResult> score_store(const std::filesystem::path& store,
                                          const dataset::Dataset& dataset, std::uint64_t samples,
                                          const MetricSpec& metric, std::uint64_t seed);

// Compares two stores output by output.
Result<check::NumericReport> compare_outputs(const std::filesystem::path& reference,
                                             const std::filesystem::path& got,
                                             const check::NumericOptions& options);

// True when there is something that an output can be scored by: labels, or true answers.
bool has_truth(const dataset::Dataset& dataset);

}  // namespace assay::controller
