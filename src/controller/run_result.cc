// The parts of EvaluationRun that put its findings into the form of result.json.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/build_info.h"
#include "controller/evaluation_run.h"
#include "report/host_facts.h"
#include "report/json.h"

namespace assay::controller {
namespace {

Json texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& text : list) json.push_back(text);
  return json;
}

// What was done, whatever the manifest declares.
constexpr const char* kPerPhase = "a worker per phase, and per round of a row";
constexpr const char* kPerRun =
    "one worker for all phases of this backend, and another one after a phase that failed; the "
    "peak memory of a phase is what the worker held at most while it lasted, what earlier phases "
    "left there included";
constexpr const char* kTimedRegion =
    "from host buffers in to host buffers out; conversion between data types at the boundary is "
    "inside and shown apart";

}  // namespace

Json EvaluationRun::result(std::int64_t wall_ns, const std::string& started_utc) const {
  const std::string verdict = overall_verdict(criteria_, phases_, interrupted_);
  Json phases = Json::array();
  for (const PhaseRecord& phase : phases_) phases.push_back(phase_json(phase));
  const std::string& task = setup_.plan.request.task;
  Json json{{"schema_version", report::kSchemaVersion},
            {"assay_version", build_info().version},
            {"verdict", verdict},
            {"exit_code", 0},
            {"interrupted", interrupted_},
            {"task", task.empty() ? setup_.plan.model.name : task},
            {"hardware_type", setup_.manifest.hardware_type},
            {"command", workload::command_line(setup_.plan.request)},
            {"started_utc", started_utc},
            {"finished_utc", utc_now().text},
            {"wall_ns", wall_ns},
            {"self_comparison", self_comparison_},
            {"criteria", criteria_json()},
            {"warnings", texts(warnings_)},
            {"notes", texts(notes_)},
            {"not_tested",
             {{{"what", "scenarios"},
               {"why", "the closed loop of clients was measured; no open-loop load pattern was"}},
              {{"what", "QS mode"},
               {"why",
                "performance was measured by direct calls of the backend, not through a serving "
                "runtime"}}}},
            {"plan", workload::to_json(setup_.plan)},
            {"questions", questions_json(profile_, answers_)},
            {"phases", phases},
            {"compile", compile_with_coverage()},
            {"accuracy", accuracy_json_.get()},
            {"numeric", numeric_json_.get()},
            {"pipeline", pipeline_json_.get()},
            {"stability", stability_json_.get()},
            {"performance", performance_json_.get()},
            {"vendor_claim", vendor_claim_json_.get()},
            {"harness", harness_json_.get()},
            {"provenance", provenance()},
            {"reproduce", reproduce_json()},
            {"raw", raw_json_.get()}};
  if (simulated()) mark_simulated(json);
  return json;
}

Json EvaluationRun::compile_with_coverage() const {
  Json json = compile_json_.get();
  if (!json.is_object() || !pass_ || pass_->segments.empty()) return json;
  json["coverage"] =
      coverage_json(setup_.manifest.hardware_type, compiled_->parsed, operators_, pass_->segments);
  return json;
}

Json EvaluationRun::criteria_json() const {
  Json list = Json::array();
  for (const Criterion& criterion : criteria_) list.push_back(to_json(criterion));
  return list;
}

Json EvaluationRun::reproduce_json() const {
  Json list = Json::array();
  list.push_back(
      {{"what", "the whole run"}, {"command", workload::command_line(setup_.plan.request)}});
  for (const Json& axis : stability_json_.get()) {
    if (axis.value("verdict", "") != "unstable") continue;
    list.push_back({{"what", fmt::format("the stability axis {}", axis.value("axis", ""))},
                    {"command", axis.value("command", "")}});
  }
  for (const Json& row : performance_json_.get()) {
    list.push_back({{"what", fmt::format("the row of batch size {}", row.value("batch_size", 0))},
                    {"command", row.value("command", "")}});
  }
  return list;
}

Json EvaluationRun::provenance() const {
  Json toolchain{{"assay_version", build_info().version},
                 {"git_commit", build_info().git_commit},
                 {"compiler", build_info().compiler},
                 {"build_type", build_info().build_type}};
  return Json{
      {"model", model_provenance()},
      {"dataset", dataset_provenance()},
      {"artifact",
       compiled_ ? Json{{"sha256", compiled_->artifact_hash}, {"files", compiled_->files.size()}}
                 : Json()},
      {"backend", backend_provenance()},
      {"reference", reference_json_.get()},
      {"host", report::host_facts()},
      {"toolchain", toolchain},
      {"seeds", {{"run", setup_.plan.request.seed}}},
      {"worker_policy",
       setup_.manifest.worker_policy == host::WorkerPolicy::kPerRun ? kPerRun : kPerPhase},
      {"worker_limits",
       {{"memory_bytes",
         session_.memory_limit_bytes > 0 ? Json(session_.memory_limit_bytes) : Json()},
        {"cpu_ns_per_phase", session_.cpu_limit_ns > 0 ? Json(session_.cpu_limit_ns) : Json()}}},
      {"timed_region", kTimedRegion},
      {"clock", "CLOCK_MONOTONIC"}};
}

Json EvaluationRun::model_provenance() const {
  const workload::ModelInfo& info = setup_.plan.model;
  Json json{{"name", info.name},
            {"path", info.model_path.string()},
            {"sha256", setup_.model_files.hash},
            {"size_bytes", setup_.model_files.size_bytes},
            {"format", info.model_format},
            {"framework", info.framework},
            {"framework_version", info.framework_version},
            {"declared_precision", info.model_precision},
            {"weights", info.weights.empty() ? "trained" : info.weights}};
  if (setup_.plan.model_file) {
    json["producer"] = setup_.plan.model_file->producer;
    json["ir_version"] = setup_.plan.model_file->ir_version;
    for (const Opset& opset : setup_.plan.model_file->opsets) {
      json["opsets"][opset.domain.empty() ? "ai.onnx" : opset.domain] = opset.version;
    }
  }
  return json;
}

Json EvaluationRun::dataset_provenance() const {
  return Json{{"name", setup_.data->name()},
              {"samples", setup_.data->size()},
              {"used", setup_.samples},
              {"sha256", setup_.data->fingerprint()},
              {"preprocess",
               setup_.plan.model.preprocess->is_object() ? *setup_.plan.model.preprocess : Json()}};
}

Json EvaluationRun::backend_provenance() const {
  Json json{{"name", setup_.manifest.hardware_type},
            {"language", host::name_of(setup_.manifest.language)},
            {"version", probe_ ? Json(probe_->version) : Json()},
            {python_ ? "folder_sha256" : "library_sha256", library_hash_},
            {"boundary_version", probe_ ? Json(probe_->interface_version) : Json()},
            {"devices", probe_ ? texts(probe_->devices) : Json::array()}};
  if (!python_) json["library"] = setup_.manifest.library;
  if (python_) json["python"] = python_provenance();
  if (!backend_notes_.empty()) json["notes"] = backend_notes_;
  if (pass_) {
    json["conversions"] = Json::parse(pass_->conversions, nullptr, false);
    json["accuracy_pass"] = {{"batch_size", pass_->loaded_batch_size},
                             {"samples", pass_->samples},
                             {"padded_samples", pass_->padded_samples},
                             {"wall_ns", pass_->wall_ns},
                             {"backend_ns", pass_->backend_ns}};
  }
  return json;
}

}  // namespace assay::controller
