#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "check/accuracy_verdict.h"
#include "check/metrics.h"
#include "check/numeric.h"
#include "dataset/dataset.h"

namespace assay::controller {

// What a model info says about how its outputs are scored.
struct MetricSpec {
  std::string name;    // "top1", "auc", ...
  std::string output;  // the output that holds the scores; "": the first
  check::Scores scores = check::Scores::kLogits;
};

// nullopt when `metric` is null: nothing to score. kInvalidArgument for an unknown metric or key.
Result<std::optional<MetricSpec>> parse_metric(const Json& metric);

// Scores the first `samples` of a data set by the outputs in a store.
Result<check::AccuracyResult> score_store(const std::filesystem::path& store,
                                          const dataset::Dataset& dataset, std::uint64_t samples,
                                          const MetricSpec& metric, std::uint64_t seed);

// Compares two stores output by output.
Result<check::NumericReport> compare_outputs(const std::filesystem::path& reference,
                                             const std::filesystem::path& got,
                                             const check::NumericOptions& options);

// True when a sample of the data set has a label.
bool has_labels(const dataset::Dataset& dataset);

}  // namespace assay::controller
