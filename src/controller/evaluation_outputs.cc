// The phases of an evaluation that judge outputs: reference, accuracy, numeric.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "controller/evaluation_run.h"
#include "controller/loaded_libraries.h"
#include "controller/reference.h"
#include "controller/reference_noise.h"
#include "controller/run_journal.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

bool inside_noise_floor(const check::NumericReport& report, const check::NumericCriterion& wanted) {
  return std::ranges::all_of(report.outputs, [&](const check::NumericResult& output) {
    const auto placement = check::place(output, check::find_floor(wanted.floors, output.output));
    return placement == check::NoisePlacement::kIdentical ||
           placement == check::NoisePlacement::kInsideFloor;
  });
}

std::string name_or_unknown(const Reference& reference) {
  return reference.executed_precision.empty() ? "unknown" : reference.executed_precision;
}

}  // namespace

bool EvaluationRun::needs_outputs() const {
  return setup_.plan.workload.test_accuracy || setup_.plan.workload.test_numeric;
}

std::int64_t EvaluationRun::pass_batch_size() const {
  return *std::max_element(setup_.plan.batch_sizes.begin(), setup_.plan.batch_sizes.end());
}

check::StoreIdentity EvaluationRun::store_identity() const {
  check::StoreIdentity identity;
  identity.model_hash = setup_.model_files.hash;
  identity.dataset_hash = setup_.data->fingerprint();
  identity.executed_precision = compiled_->parsed.compile_precision;
  identity.backend = setup_.manifest.hardware_type + " " + probe_->version;
  return identity;
}

const Result<ReferenceRequest>& EvaluationRun::reference_request() {
  if (!reference_request_) reference_request_.emplace(make_reference_request());
  return *reference_request_;
}

Result<ReferenceRequest> EvaluationRun::make_reference_request() {
  ReferenceRequest request;
  request.plan = &setup_.plan;
  request.info = setup_.plan.model;
  request.model_hash = setup_.model_files.hash;
  request.dataset = setup_.data.get();
  request.samples = setup_.samples;
  request.batch_size = pass_batch_size();
  request.cache = environment_->installation.cache / "reference";
  request.work_folder = setup_.folder / "reference";
  if (setup_.plan.reference) {
    request.info = *setup_.plan.reference;
    ASSIGN_OR_RETURN(const ModelFiles files,
                     identify_model(request.info.model_path, request.info.model_format));
    request.model_hash = files.hash;
    request.is_named_reference = true;
  }
  ASSIGN_OR_RETURN(request.manifest,
                   host::find_backend(kReferenceBackend, environment_->installation.backends));
  ASSIGN_OR_RETURN(request.library_hash, libraries_in_folder(request.manifest.folder));
  request.backend_version = probe_->version;
  request.runtime_libraries = probe_->runtime_libraries;
  if (request.manifest.folder == setup_.manifest.folder) return request;
  Status open_error;
  const PhaseResult<ProbeFacts> probed = probe_backend(session_, request.manifest, open_error);
  RETURN_IF_ERROR(open_error);
  if (!probed.value) return unavailable(probed.record.end.reason);
  request.backend_version = probed.value->version;
  request.runtime_libraries = probed.value->runtime_libraries;
  return request;
}

void EvaluationRun::run_reference() {
  if (stopped() || !needs_outputs()) return skip("reference", "nothing is compared");
  if (!compiled_) return skip("reference", "compile did not finish");
  begin("reference");
  const Result<ReferenceRequest>& request = reference_request();
  if (!request.ok()) {
    PhaseRecord record;
    record.name = "reference";
    record.end = {worker::Outcome::kFailed, request.status().to_string()};
    return finish(std::move(record));
  }
  PhaseResult<Reference> made = make_reference(session_, *request, *environment_->observer);
  const std::string runtime = declared_runtime(compiled_->parsed.document.get());
  const bool same_runtime = request->manifest.folder == setup_.manifest.folder ||
                            (!runtime.empty() && made.value && runtime == made.value->runtime);
  self_comparison_ = same_runtime && request->model_hash == store_identity().model_hash;
  if (self_comparison_) {
    notes_.emplace_back(
        "Self-comparison: hardware under test and reference are the same runtime. That they agree "
        "says nothing about the hardware.");
  }
  if (made.value) {
    reference_store_ = made.value->store;
    if (made.value->executed_precision.empty()) {
      warnings_.emplace_back("It is not known in which precision the reference executed.");
    }
    reference_json_ = JsonValue(Json{{"name", kReferenceBackend},
                                     {"version", request->backend_version},
                                     {"model", request->info.name},
                                     {"model_sha256", request->model_hash},
                                     {"executed_precision", name_or_unknown(*made.value)},
                                     {"cached", made.record.cached}});
  }
  finish(std::move(made.record));
}

// Every sample once through the backend under test; done by the first phase that needs it.
PhaseRecord EvaluationRun::run_pass() {
  pass_tried_ = true;
  const std::string key =
      step_key({compiled_->artifact_hash, setup_.data->fingerprint(),
                std::to_string(setup_.samples), std::to_string(pass_batch_size())});
  // A worker that the run shares is asked when the run ends.
  const bool is_shared = setup_.manifest.worker_policy == host::WorkerPolicy::kPerRun;
  if (resume_pass(key)) {
    if (!is_shared) add_backend_notes(pass_->notes);
    PhaseRecord record;
    record.name = "accuracy";
    record.cached = true;
    return record;
  }
  PhaseRecord record =
      run_in_session(session_, setup_.manifest, "accuracy", [&](Session& session) -> Status {
        PassRequest request;
        request.dataset = setup_.data.get();
        request.samples = setup_.samples;
        request.batch_size = pass_batch_size();
        request.batch_axes = setup_.plan.model.batch_axes;
        request.model = {configs_, compiled_->compile_result, compiled_->artifact_folder};
        request.store = store_path();
        request.identity = store_identity();
        ASSIGN_OR_RETURN(pass_, run_inference_pass(session, request, *environment_->observer));
        return ok_status();
      });
  if (pass_ && record.end.ok()) note_in_journal("accuracy", key, pass_journal_json(*pass_));
  if (pass_ && !is_shared) add_backend_notes(pass_->notes);
  return record;
}

void EvaluationRun::run_accuracy() {
  if (setup_.plan.generated_data)
    return skip("accuracy", "the data is generated: it has no labels");
  if (stopped() || !setup_.plan.workload.test_accuracy) return skip("accuracy", "not asked for");
  if (!compiled_) return skip("accuracy", "compile did not finish");
  if (!setup_.metric || !has_truth(*setup_.data)) {
    return skip("accuracy", "the data has no labels or the model info names no metric");
  }
  begin("accuracy");
  PhaseRecord record = run_pass();
  if (pass_) {
    if (const Status status = score(); !status.ok()) {
      record.end = {worker::Outcome::kFailed, status.to_string()};
    }
  }
  finish(std::move(record));
}

Status EvaluationRun::score() {
  const std::uint64_t seed = setup_.plan.request.seed;
  ASSIGN_OR_RETURN(const check::AccuracyResult tested,
                   score_store(store_path(), *setup_.data, setup_.samples, *setup_.metric, seed));
  std::optional<check::AccuracyResult> reference;
  bool identical = false;
  if (reference_store_) {
    ASSIGN_OR_RETURN(reference, score_store(*reference_store_, *setup_.data, setup_.samples,
                                            *setup_.metric, seed));
    const Result<check::NumericReport>& report = comparison();
    identical = report.ok() && report->identical;
  }
  check::AccuracyCriteria wanted;
  wanted.bootstrap_seed = seed;
  wanted.absolute_floor = setup_.plan.workload.criteria.accuracy.min;
  if (setup_.plan.workload.criteria.accuracy.min_relative) {
    wanted.relative_floor = setup_.plan.workload.criteria.accuracy.min_relative;
  }
  ASSIGN_OR_RETURN(
      const check::AccuracyVerdict verdict,
      check::judge_accuracy(tested, reference ? &*reference : nullptr, identical, wanted));
  accuracy_json_ =
      JsonValue(accuracy_json({.tested = &tested,
                               .reference = reference ? &*reference : nullptr,
                               .verdict = &verdict,
                               .data_percent = 100.0 * static_cast<double>(setup_.samples) /
                                               static_cast<double>(setup_.data->size()),
                               .dataset = setup_.data->name(),
                               .calibrated_on_evaluation_data = calibrated_on_evaluation_data()}));
  criteria_.push_back(accuracy_criterion(verdict));
  return ok_status();
}

bool EvaluationRun::tolerance_named() const {
  const workload::NumericCriteria& named = setup_.plan.workload.criteria.numeric;
  return named.atol.has_value() || named.rtol.has_value();
}

// The outputs against the reference's, read once for all that is asked of them.
const Result<check::NumericReport>& EvaluationRun::comparison() {
  if (comparison_) return *comparison_;
  check::NumericOptions options;
  if (tolerance_named()) {
    const workload::NumericCriteria& named = setup_.plan.workload.criteria.numeric;
    options.atol = named.atol.value_or(0);
    options.rtol = named.rtol.value_or(0);
  }
  if (setup_.metric && setup_.metric->name.starts_with("top")) {
    options.class_scores = {setup_.metric->output};
  }
  const Result<DType> executed = parse_dtype(compiled_->parsed.compile_precision);
  if (executed.ok()) options.executed_precision = *executed;
  comparison_.emplace(compare_outputs(*reference_store_, store_path(), options));
  return *comparison_;
}

// What the error may come from: the precision executed in, and that of a model with an fp32 one.
std::string EvaluationRun::precision_to_explain() const {
  std::string precision = declared_precision(compiled_->parsed);
  if (!setup_.plan.reference) return precision;
  return precision + "+" + setup_.plan.model.model_precision +
         (setup_.plan.model.is_quantized ? "+INT8" : "");
}

// Runs the reference many times, so only when something differs.
const std::vector<check::NoiseFloor>& EvaluationRun::noise_floors() {
  if (noise_floors_) return *noise_floors_;
  noise_floors_.emplace();
  NoiseRequest request;
  const Result<ReferenceRequest>& reference = reference_request();
  Status status = reference.status();
  if (status.ok()) {
    request.reference = *reference;
    request.quantized = reference->info.is_quantized;
    request.precision = precision_to_explain();
    request.seed = setup_.plan.request.seed;
    request.work_folder = setup_.folder / "noise-floor";
    Result<std::vector<check::NoiseFloor>> measured =
        measure_noise(session_, request, *environment_->observer);
    status = measured.status();
    if (measured.ok()) noise_floors_ = *std::move(measured);
  }
  if (!status.ok() && !stopped()) {
    warnings_.emplace_back(
        "The noise floor is not known: " +
        (status.code() == StatusCode::kUnimplemented ? status.message() : status.to_string()));
  }
  return *noise_floors_;
}

check::NumericCriterion EvaluationRun::numeric_wanted() {
  check::NumericCriterion wanted;
  wanted.tolerance_named = tolerance_named();
  const Result<check::NumericReport>& report = comparison();
  if (report.ok() && !report->identical) wanted.floors = noise_floors();
  return wanted;
}

// Another dtype than the reference's is no fault by itself: it may as well be a conversion that
// the backend makes and nobody asked for.
void EvaluationRun::note_dtypes(const check::NumericReport& report) {
  for (const check::NumericResult& output : report.outputs) {
    if (output.dtype == output.reference_dtype) continue;
    notes_.push_back(fmt::format(
        "Output \"{}\": the backend gives {}, the reference {}; they are compared as they are.",
        output.output, name_of(output.dtype), name_of(output.reference_dtype)));
  }
}

void EvaluationRun::run_numeric() {
  if (stopped() || !setup_.plan.workload.test_numeric) return skip("numeric", "not asked for");
  if (!compiled_) return skip("numeric", "compile did not finish");
  if (!reference_store_) return skip("numeric", "there is no reference");
  if (pass_tried_ && !pass_)
    return skip("numeric", "the outputs of the accuracy phase are missing");
  begin("numeric");
  const std::int64_t start_ns = now_ns();
  PhaseRecord record;
  if (!pass_tried_) record = run_pass();
  record.name = "numeric";
  if (pass_) {
    const Result<check::NumericReport>& report = comparison();
    if (report.ok()) {
      const check::NumericCriterion wanted = numeric_wanted();
      numeric_json_ = JsonValue(numeric_json(*report, wanted));
      note_dtypes(*report);
      Criterion criterion = numeric_criterion(*report, wanted);
      if (!inside_noise_floor(*report, wanted)) probe_pipeline_of(*report, criterion);
      criteria_.push_back(std::move(criterion));
    } else {
      record.end = {worker::Outcome::kFailed, report.status().to_string()};
    }
  }
  record.wall_ns = now_ns() - start_ns;
  finish(std::move(record));
}

}  // namespace assay::controller
