// The phase of an evaluation that asks a backend for its own figures.

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "controller/compile_events.h"
#include "controller/evaluation_run.h"
#include "controller/inference_pass.h"
#include "controller/typed_object.h"
#include "controller/vendor_claim.h"

namespace assay::controller {
namespace {

constexpr const char* kClaimPhase = "vendor_claim";
constexpr std::chrono::seconds kBenchmarkTimeout{3600};

}  // namespace

Status EvaluationRun::claim_of(Session& session, std::int64_t batch_size) {
  const dataset::Dataset& data = setup_.performance_data();
  ASSIGN_OR_RETURN(const std::vector<TensorSpec> inputs,
                   batched_specs(data, setup_.plan.model.batch_axes, batch_size));
  const CompiledModel model{configs_, compiled_->compile_result, compiled_->artifact_folder};
  ASSIGN_OR_RETURN(const LoadedModel loaded, session.load(model, batch_size, inputs));
  CompileEvents events(&data, *environment_->observer);
  ASSIGN_OR_RETURN(const Json answer, events.call(session, "benchmark", Json::object(),
                                                  /*disjoint=*/false, kBenchmarkTimeout));
  ASSIGN_OR_RETURN(const std::string text,
                   TypedObject(answer, "the worker's answer to benchmark").text("claims"));
  ASSIGN_OR_RETURN(const std::vector<JsonValue> claims, claims_of(text, loaded.batch_size));
  for (const JsonValue& claim : claims) {
    vendor_claim_json_.mutable_value().push_back(claim_json(claim.get(), performance_json_.get()));
  }
  return ok_status();
}

void EvaluationRun::run_vendor_claim() {
  if (!has_benchmark_ || stopped() || !compiled_) return;
  begin(kClaimPhase);
  PhaseRecord record =
      run_in_session(session_, setup_.manifest, kClaimPhase, [&](Session& session) -> Status {
        for (const std::int64_t batch_size : setup_.plan.batch_sizes) {
          const Status status = claim_of(session, batch_size);
          if (status.code() == StatusCode::kUnimplemented) return ok_status();
          RETURN_IF_ERROR(status);
        }
        return ok_status();
      });
  if (record.end.ok() && vendor_claim_json_->empty()) {
    record.end = {worker::Outcome::kSkipped, "the backend has no benchmark of its own"};
  }
  finish(std::move(record));
}

}  // namespace assay::controller
