// The phase of an evaluation that asks whether the same input is always given the same answer.

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/evaluation_run.h"
#include "controller/stability_records.h"

namespace assay::controller {

StabilityRequest EvaluationRun::stability_request() {
  StabilityRequest request;
  request.session = session_;
  request.manifest = setup_.manifest;
  request.model = {configs_, compiled_->compile_result, compiled_->artifact_folder};
  request.compile = compile_request();
  request.lives_in_process = compiled_->lives_in_process();
  request.dataset = setup_.data.get();
  request.samples = setup_.samples;
  request.batch_axes = setup_.plan.model.batch_axes;
  request.batch_sizes = setup_.plan.batch_sizes;
  request.budget = setup_.plan.stability;
  request.seed = setup_.plan.request.seed;
  if (setup_.metric && setup_.metric->name.starts_with("top")) {
    request.class_output = setup_.metric->output;
  }
  request.noise_floors = [this] { return noise_floors(); };
  request.reference_store = reference_store_;
  request.work_folder = setup_.folder / "stability";
  return request;
}

void EvaluationRun::run_stability_matrix() {
  if (stopped() || !setup_.plan.workload.test_stability) return skip("stability", "not asked for");
  if (!compiled_) return skip("stability", "compile did not finish");
  begin("stability");
  const std::string key = stability_key();
  if (resume_stability(key)) return;
  PhaseResult<StabilityResult> done = run_stability(stability_request(), *environment_->observer);
  if (done.value) {
    stability_json_ = JsonValue(stability_json(*done.value, setup_.plan, *setup_.data));
    if (!stopped()) {
      criteria_.push_back(
          stability_criterion(*done.value, setup_.plan.workload.criteria.stability));
    }
    if (!stopped() && done.record.end.ok()) {
      note_in_journal(
          "stability", key,
          Json{{"axes", stability_json_.get()}, {"criterion", to_json(criteria_.back())}});
    }
  }
  finish(std::move(done.record));
}

}  // namespace assay::controller
