#include "controller/bisect_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "controller/output_room.h"
#include "controller/steps.h"
#include "controller/typed_object.h"
#include "workload/signature.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::seconds kInferTimeout{300};

Result<TensorSet> copied_outputs(const Session& session) {
  const auto slot = worker::output_slot(session.layout(), session.arena(), 0);
  ASSIGN_OR_RETURN(const std::vector<TensorView> outputs,
                   worker::read_output_slot(session.layout(), slot));
  TensorSet copies;
  for (const TensorView& output : outputs) {
    ASSIGN_OR_RETURN(Tensor copy, Tensor::make(output.spec));
    std::ranges::copy(output.bytes, copy.bytes().begin());
    copies.insert_or_assign(output.spec.name, std::move(copy));
  }
  return copies;
}

class ModelRun {
 public:
  ModelRun(const BisectBackend& backend, const ModelCalls& calls, RunObserver& observer)
      : backend_(&backend), calls_(&calls), observer_(&observer) {}

  ModelAnswers run() {
    const PhaseRecord record = run_in_session(backend_->session, backend_->manifest, calls_->name,
                                              [&](Session& session) { return work(session); });
    answers_.end = record.end;
    answers_.wall_ns = record.wall_ns;
    return std::move(answers_);
  }

 private:
  Status work(Session& session) {
    RETURN_IF_ERROR(pre_optimize(session));
    const fs::path artifact = calls_->folder / "artifact";
    Compiled compiled;
    RETURN_IF_ERROR(compile_in_session(session, backend_->manifest,
                                       {.configs = configs_,
                                        .artifact_folder = artifact,
                                        .calibration = calls_->calibration,
                                        .calibration_disjoint = calls_->calibration_disjoint},
                                       *observer_, compiled));
    answers_.declared_precision = declared_precision(compiled.parsed);
    ASSIGN_OR_RETURN(const std::vector<TensorSpec> inputs, input_specs());
    ASSIGN_OR_RETURN(loaded_, session.load({configs_, compiled.compile_result, artifact},
                                           calls_->batch_size, inputs));
    answers_.compiled = true;
    capacity_ = worker::guess_output_bytes(loaded_.outputs, loaded_.batch_size);
    RETURN_IF_ERROR(share(session, inputs));
    for (const TensorSet* call : calls_->calls) RETURN_IF_ERROR(infer(session, *call));
    return ok_status();
  }

  // A run lets the backend change the model before it compiles; so does this.
  Status pre_optimize(Session& session) {
    ASSIGN_OR_RETURN(
        PreOptimized changed,
        pre_optimize_in_session(session, calls_->configs, calls_->folder / "pre_optimized"));
    configs_ = std::move(changed.configs).value_or(calls_->configs);
    return ok_status();
  }

  Result<std::vector<TensorSpec>> input_specs() const {
    std::vector<TensorSpec> specs;
    for (const std::string& name : calls_->inputs) {
      const auto found = calls_->calls.front()->find(name);
      if (found == calls_->calls.front()->end()) {
        return internal_error(fmt::format("there is no value for input \"{}\"", name));
      }
      specs.push_back(found->second.spec());
    }
    return specs;
  }

  Status share(Session& session, const std::vector<TensorSpec>& inputs) const {
    return session.share_arena({.inputs = inputs,
                                .outputs = loaded_.outputs,
                                .input_slots = 1,
                                .output_slots = 1,
                                .output_capacity_bytes = capacity_});
  }

  Status infer(Session& session, const TensorSet& call) {
    const auto attempt = [&](std::size_t bytes) -> Result<std::uint64_t> {
      const std::vector<TensorSpec> inputs = session.layout().inputs;
      if (bytes != capacity_) {
        capacity_ = bytes;
        RETURN_IF_ERROR(share(session, inputs));
      }
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        std::ranges::copy(call.at(inputs[k].name).bytes(),
                          worker::input_bytes(session.layout(), session.arena(), 0, k).begin());
      }
      ASSIGN_OR_RETURN(const Json answer, session.call("infer", Json{{"slot", 0}}, kInferTimeout));
      return missing_output_bytes(TypedObject(answer, "the worker's answer to infer"));
    };
    RETURN_IF_ERROR(grow_output_room(capacity_, attempt).status());
    ASSIGN_OR_RETURN(TensorSet outputs, copied_outputs(session));
    answers_.outputs.push_back(std::move(outputs));
    return ok_status();
  }

  const BisectBackend* backend_;
  const ModelCalls* calls_;
  RunObserver* observer_;
  std::string configs_;
  LoadedModel loaded_;
  std::size_t capacity_ = 0;
  ModelAnswers answers_;
};

}  // namespace

Result<ModelAnswers> run_model(const BisectBackend& backend, const ModelCalls& calls,
                               RunObserver& observer) {
  ModelAnswers answers = ModelRun(backend, calls, observer).run();
  std::error_code ignored;
  fs::remove_all(calls.folder / "artifact", ignored);
  fs::remove_all(calls.folder / "pre_optimized", ignored);
  if (backend.session.stop != nullptr && *backend.session.stop) return cancelled("interrupted");
  return answers;
}

Status describe_model(const workload::Plan& plan, const JsonValue& interact_info,
                      ModelCalls& calls) {
  ASSIGN_OR_RETURN(const ModelFile file, read_model(calls.model, "onnx"));
  workload::Plan described = plan;
  ASSIGN_OR_RETURN(described.model, workload::model_info_from_signature(file, {}));
  described.model.framework = plan.model.framework;
  described.model.framework_version = plan.model.framework_version;
  described.model.model_precision = plan.model.model_precision;
  described.model.lossy_conversion = plan.model.lossy_conversion;
  described.model_file.reset();
  calls.batch_size = file.batch.fixed;
  described.batch_sizes = {calls.batch_size};
  described.workload.batch_sizes = described.batch_sizes;
  calls.configs = JsonValue(workload::configs_json(described, interact_info.get())).dump();
  calls.inputs.clear();
  for (const TensorSpec& input : file.signature.inputs) calls.inputs.push_back(input.name);
  return ok_status();
}

}  // namespace assay::controller
