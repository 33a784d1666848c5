#include "controller/evaluation_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "controller/loaded_libraries.h"
#include "controller/python_set_up.h"
#include "controller/raw_record.h"
#include "controller/run_folders.h"
#include "controller/run_journal.h"
#include "controller/set_up.h"
#include "workload/batch_sizes.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

void append_all(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The files of a folder, not of those below it; one that cannot be copied is left out.
void copy_files(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    fs::copy_file(it->path(), to / it->path().filename(), fs::copy_options::overwrite_existing,
                  ignored);
  }
}

}  // namespace

EvaluationRun::EvaluationRun(Setup setup, const RunEnvironment& environment)
    : setup_(std::move(setup)),
      environment_(&environment),
      kept_(setup_.manifest),
      session_(session_settings(setup_.plan.request, environment)) {
  warnings_ = setup_.plan.warnings;
  notes_ = setup_.plan.notes;
  session_.kept = &kept_;
  session_.warnings = &warnings_;
  if (setup_.manifest.worker_policy == host::WorkerPolicy::kPerRow) {
    warnings_.emplace_back(
        "The backend's manifest asks for a worker per row; this run starts a new one for every "
        "phase and every round of a row.");
  }
  numeric_json_ = stability_json_ = performance_json_ = raw_json_ = JsonValue(Json::array());
  vendor_claim_json_ = JsonValue(Json::array());
}

void EvaluationRun::begin(const std::string& phase) {
  environment_->observer->phase_started(phase);
}

void EvaluationRun::finish(PhaseRecord record) {
  if (stopped()) interrupted_ = true;
  record.end.reason = valid_utf8(record.end.reason);  // it may quote a worker's log
  environment_->observer->phase_finished(record);
  phases_.push_back(std::move(record));
}

void EvaluationRun::skip(const std::string& phase, const std::string& reason) {
  PhaseRecord record;
  record.name = phase;
  record.end = {worker::Outcome::kSkipped, stopped() ? "interrupted" : reason};
  finish(std::move(record));
}

Status EvaluationRun::prepare() {
  remove_stale_staging(environment_->installation.cache);
  for (const char* part : {"", "reference"}) {
    remove_stale_partials(environment_->installation.cache / part);
  }
  staging_ = session_.log_folder = staging_folder(environment_->installation.cache, ::getpid());
  session_.scratch = staging_ / "scratch";
  RETURN_IF_ERROR(check_writable_folder(session_.log_folder, 0));
  RETURN_IF_ERROR(prepare_python());
  const Result<std::string> hash = backend_hash(setup_.manifest, python_ ? &*python_ : nullptr);
  if (hash.ok()) library_hash_ = *hash;
  if (Result<std::string> all = libraries_in_folder(setup_.manifest.folder); all.ok()) {
    libraries_hash_ = *std::move(all);
  }
  ASSIGN_OR_RETURN(
      DeviceLock device,
      DeviceLock::take(environment_->installation.cache / "locks", setup_.manifest.hardware_type,
                       *environment_->stop,
                       [this](const std::string& what) { environment_->observer->waiting(what); }));
  device_.emplace(std::move(device));

  begin("probe");
  Status open_error;
  PhaseResult<ProbeFacts> probe = probe_backend(session_, setup_.manifest, open_error);
  RETURN_IF_ERROR(open_error);
  probe_ = std::move(probe.value);
  finish(std::move(probe.record));

  begin("profile");
  const std::string bare = JsonValue(workload::configs_json(setup_.plan, Json::object())).dump();
  PhaseResult<std::string> asked = ask_profile(session_, setup_.manifest, bare);
  Result<workload::InteractProfile> profile =
      read_profile(asked.value.value_or(""), setup_.manifest);
  if (!profile.ok() && !asked.value.value_or("").empty()) {
    // What the backend's code said is its phase's failure; what its folder holds is bad input.
    if (asked.record.end.ok()) {
      asked.record.end = {worker::Outcome::kFailed, profile.status().to_string()};
    }
    profile = read_profile("", setup_.manifest);
  }
  ASSIGN_OR_RETURN(profile_, std::move(profile));
  append_all(warnings_, profile_.warnings);
  ASSIGN_OR_RETURN(answers_, workload::resolve_answers(profile_, {setup_.plan.request.set_options,
                                                                  setup_.plan.request.answers_file,
                                                                  environment_->dialogs}));
  append_all(warnings_, answers_.warnings);
  finish(std::move(asked.record));
  configs_ =
      JsonValue(workload::configs_json(setup_.plan, workload::interact_info(answers_))).dump();
  return ok_status();
}

void EvaluationRun::discard() {
  kept_.close(&warnings_);
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

Status EvaluationRun::execute() {
  const Status done = run_phases();
  close_worker();
  return done;
}

Status EvaluationRun::run_phases() {
  session_.log_folder = setup_.folder / "logs";
  for (const char* part : {"", "logs", "outputs", "raw"}) {
    remove_stale_partials(setup_.folder / part);
  }
  for (const char* part : {"logs", "outputs"}) {
    RETURN_IF_ERROR(check_writable_folder(setup_.folder / part, 0));
  }
  if (setup_.plan.request.keep_raw) {
    RETURN_IF_ERROR(check_writable_folder(setup_.folder / "raw", 0));
  }
  copy_files(staging_, session_.log_folder);
  ASSIGN_OR_RETURN(Journal journal,
                   Journal::open(setup_.folder / "journal.jsonl", setup_.plan.request.resume));
  journal_.emplace(std::move(journal));
  run_pre_optimize();
  run_compile();
  if (!setup_.plan.workload.compile_only) {
    run_reference();
    run_accuracy();
    run_numeric();
    run_stability_matrix();
    run_performance();
    run_vendor_claim();
  }
  return setup_.plan.request.keep_raw ? keep_raw() : ok_status();
}

Status EvaluationRun::keep_raw() {
  const fs::path folder = setup_.folder / "raw";
  Json kept = Json::array();
  if (pass_) RETURN_IF_ERROR(keep_outputs(store_path(), folder, kept));
  RETURN_IF_ERROR(keep_latencies(records_, folder, kept));
  raw_json_ = JsonValue(kept);
  return ok_status();
}

void EvaluationRun::run_pre_optimize() {
  if (stopped() || !probe_) return skip("pre_optimize", "the backend is not available");
  begin("pre_optimize");
  PhaseResult<PreOptimized> changed =
      pre_optimize(session_, setup_.manifest, configs_, setup_.folder / "pre_optimized");
  if (changed.value && changed.value->configs) {
    configs_ = *changed.value->configs;
    notes_.emplace_back("The backend's pre_optimize changed the model or its description.");
  } else if (changed.value) {
    std::error_code ignored;
    fs::remove(setup_.folder / "pre_optimized", ignored);
  }
  finish(std::move(changed.record));
  const workload::ModelInfo& info = setup_.plan.model;
  const Result<ModelFiles> again = identify_model(info.model_path, info.model_format);
  if (!again.ok() || again->hash != setup_.model_files.hash) {
    warnings_.emplace_back("The model's own file changed while pre_optimize ran.");
  }
}

CompileRequest EvaluationRun::compile_request() const {
  const dataset::Dataset* calibration = setup_.data->calibration();
  CompileRequest request;
  request.configs = configs_;
  request.artifact_folder = setup_.folder / "artifact";
  request.calibration = calibration != nullptr ? calibration : setup_.data.get();
  request.calibration_disjoint = calibration != nullptr;
  return request;
}

void EvaluationRun::run_compile() {
  if (stopped() || !probe_) return skip("compile", "the backend is not available");
  begin("compile");
  const std::string key = step_key(calibration_key());
  if (resume_compile(key)) return;
  PhaseResult<Compiled> compiled =
      compile_model(session_, setup_.manifest, compile_request(), *environment_->observer);
  if (compiled.value) {
    if (compiled.record.end.ok() && !compiled.value->lives_in_process()) {
      note_in_journal("compile", key, compiled_journal_json(*compiled.value, compiled.record));
    }
    take_compiled(std::move(*compiled.value), compiled.record);
  }
  finish(std::move(compiled.record));
}

// What follows from a compilation, new or resumed.
void EvaluationRun::take_compiled(Compiled compiled, const PhaseRecord& record) {
  compiled_ = std::move(compiled);
  compile_json_ = JsonValue(compile_json(*compiled_, record));
  count_segments();
  if (calibrated_on_evaluation_data()) {
    notes_.emplace_back("Calibrated on evaluation data: the data set has no samples apart.");
  } else if (compiled_->calibration_samples > 0) {
    notes_.push_back(fmt::format(
        "The backend read {} {} samples while it compiled.", compiled_->calibration_samples,
        setup_.data->calibration() == nullptr ? "evaluation" : "calibration"));
  }
  if (!compiled_->best_batch_sizes) return;
  const Result<std::vector<std::int64_t>> sizes = workload::accepted_batch_sizes(
      setup_.plan.model, setup_.plan.model_file, *compiled_->best_batch_sizes);
  if (sizes.ok()) {
    setup_.plan.batch_sizes = *sizes;
    notes_.emplace_back("The backend's own batch sizes replace the workload's.");
  } else {
    warnings_.push_back("The batch sizes that the backend asks for are not used: " +
                        sizes.status().message());
  }
}

// What falls back is counted here, and held against what the backend claims.
void EvaluationRun::count_segments() {
  const auto& segments = compiled_->parsed.segments;
  if (python_ || std::ranges::none_of(segments, &workload::Segment::is_fallback)) return;
  operators_ =
      count_operators(setup_.plan.model.model_path, compiled_->parsed, compiled_->artifact_folder);
  if (!operators_) return;
  if (std::string found = coverage_contradiction(compiled_->parsed, *operators_); !found.empty()) {
    warnings_.push_back(std::move(found));
  }
}

// A backend that quantises nothing may look at a sample to try the model, which flatters nothing.
bool EvaluationRun::calibrated_on_evaluation_data() const {
  return compiled_ && probe_->need_quant && compiled_->calibration_samples > 0 &&
         setup_.data->calibration() == nullptr;
}

}  // namespace assay::controller
