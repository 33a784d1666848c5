// The part of the numeric phase that asks what kind of difference it found.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/evaluation_run.h"
#include "controller/pipeline_probe.h"

namespace assay::controller {
namespace {

std::vector<std::uint64_t> worst_samples(const check::NumericReport& report) {
  std::vector<std::uint64_t> samples;
  for (const check::NumericResult& output : report.outputs) {
    for (const check::WorstSample& worst : output.worst) samples.push_back(worst.sample_id);
  }
  return samples;
}

// A pipeline that accounts for the difference is what the criterion fails by.
void blame_pipeline(const PipelineProbe& probe, Criterion& numeric) {
  if (!probe.named) return;
  const TriedHypothesis& named = probe.tried[*probe.named];
  numeric.outcome = "fail";
  numeric.found = fmt::format("{}; {}", named.sentence, numeric.found);
  numeric.detail = fmt::format(
      "as \"{}\" the difference falls from {:.3g} to {:.3g} of the answers' spread on {} samples; "
      "{}",
      named.name, named.before.difference.value_or(0), named.after.difference.value_or(0),
      probe.samples, numeric.detail);
}

}  // namespace

void EvaluationRun::probe_pipeline_of(const check::NumericReport& report, Criterion& numeric) {
  if (report.identical || stopped()) return;
  PipelineProbeRequest request;
  const Result<ReferenceRequest>& reference = reference_request();
  if (!reference.ok()) {
    warnings_.push_back("The pipeline was not probed: " + reference.status().message());
    return;
  }
  request.reference = *reference;
  request.reference.work_folder = setup_.folder / "pipeline";
  request.reference_store = *reference_store_;
  request.tested_store = store_path();
  request.info = setup_.plan.model;
  request.metric = setup_.metric;
  request.worst_samples = worst_samples(report);
  request.batch_sizes = setup_.plan.batch_sizes;
  request.seed = setup_.plan.request.seed;
  const PhaseResult<PipelineProbe> probe =
      probe_pipeline(session_, request, *environment_->observer);
  if (!probe.record.end.ok()) {
    warnings_.push_back("The probe of the pipeline did not finish: " + probe.record.end.reason);
    // A wrong pipeline may hide inside the bound of a coarse precision.
    if (numeric.outcome == "pass") numeric.outcome = "inconclusive";
  }
  if (!probe.value) return;
  pipeline_json_ = JsonValue(to_json(*probe.value));
  blame_pipeline(*probe.value, numeric);
}

}  // namespace assay::controller
