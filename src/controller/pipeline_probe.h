#pragma once

// Why a backend's answers are not the reference's: a few samples are given to the reference as a
// wrong pipeline would feed them, and its answers read as a wrong reader would, until they are the
// backend's. Source: docs/reference/pipeline.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "check/pipeline_fit.h"
#include "check/pipeline_hypotheses.h"
#include "controller/evaluation.h"
#include "controller/phase.h"
#include "controller/reference.h"
#include "workload/model_info.h"

namespace assay::controller {

struct PipelineProbeRequest {
  ReferenceRequest reference;  // its work folder is used, and removed
  std::filesystem::path reference_store;
  std::filesystem::path tested_store;  // of the same samples
  workload::ModelInfo info;            // of the model under test
  std::optional<MetricSpec> metric;
  std::vector<std::uint64_t> worst_samples;  // taken first; the others are drawn
  std::vector<std::int64_t> batch_sizes;     // that the model takes
  std::uint64_t seed = 0;
};

struct TriedHypothesis {
  std::string name;
  std::string sentence;
  check::Fit before;  // without the hypothesis, over the outputs that it is about
  check::Fit after;
  check::Restoration restoration;

  // After by before; none where either has no difference.
  std::optional<double> left() const;
};

struct PipelineProbe {
  std::size_t samples = 0;
  check::Fit untouched;
  std::vector<TriedHypothesis> tried;  // empty when nothing deviates, or too few values do
  std::optional<std::size_t> named;    // index of the hypothesis that restores agreement best
  std::optional<std::size_t> next;     // the nearest of the others
};

// How the model is fed, as far as its info tells.
check::PipelineFacts pipeline_facts(const workload::ModelInfo& info,
                                    const dataset::Dataset& dataset);

// `value` also when nothing is tried; then no worker was started.
PhaseResult<PipelineProbe> probe_pipeline(const SessionSettings& settings,
                                          const PipelineProbeRequest& request,
                                          RunObserver& observer);

// result.json's `pipeline`.
Json to_json(const PipelineProbe& probe);

}  // namespace assay::controller
