#include "controller/evaluation_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "check/npy.h"
#include "check/output_store.h"
#include "controller/data.h"
#include "controller/reference.h"
#include "controller/run_journal.h"
#include "loadgen/record.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr const char* kReferenceBackend = "CPU";
constexpr const char* kNullBackend = "NULL";
constexpr double kMemoryShare = 0.9;  // of the machine's memory that a worker may hold

std::int64_t memory_limit_bytes() {
  const double bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return static_cast<std::int64_t>(bytes * kMemoryShare);
}

void append(JsonValue& list, Json element) {
  if (list.is_null()) list = JsonValue(Json::array());
  list.mutable_value().push_back(std::move(element));
}

void append_all(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

EvaluationRun::EvaluationRun(Setup setup, const RunEnvironment& environment)
    : setup_(std::move(setup)), environment_(&environment) {
  session_.worker_program = environment.installation.worker;
  session_.stop = environment.stop;
  session_.memory_limit_bytes = memory_limit_bytes();
  if (setup_.plan.request.timeout_s) {
    session_.timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(*setup_.plan.request.timeout_s * 1000));
  }
  warnings_ = setup_.plan.warnings;
  notes_ = setup_.plan.notes;
  numeric_json_ = performance_json_ = raw_json_ = JsonValue(Json::array());
}

void EvaluationRun::begin(const std::string& phase) {
  environment_->observer->phase_started(phase);
}

void EvaluationRun::finish(PhaseRecord record) {
  if (stopped()) interrupted_ = true;
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
  session_.log_folder =
      environment_->installation.cache / "tmp" / fmt::format("run-{}", ::getpid());
  RETURN_IF_ERROR(check_writable_folder(session_.log_folder, 0));
  const Result<std::string> hash = sha256_of_file(setup_.manifest.library_path());
  if (hash.ok()) library_hash_ = *hash;

  begin("probe");
  Status open_error;
  PhaseResult<ProbeFacts> probe = probe_backend(session_, setup_.manifest, open_error);
  RETURN_IF_ERROR(open_error);
  probe_ = std::move(probe.value);
  finish(std::move(probe.record));

  begin("profile");
  const std::string bare = workload::configs_json(setup_.plan, Json::object()).dump();
  PhaseResult<std::string> asked = ask_profile(session_, setup_.manifest, bare);
  if (asked.value && !asked.value->empty()) {
    const Json returned = Json::parse(*asked.value, nullptr, /*allow_exceptions=*/false);
    ASSIGN_OR_RETURN(
        profile_, workload::interact_profile_from_backend(returned, setup_.manifest.hardware_type));
  } else if (!setup_.manifest.profile.empty()) {
    ASSIGN_OR_RETURN(profile_, workload::load_interact_profile(setup_.manifest.profile_path()));
  }
  append_all(warnings_, profile_.warnings);
  ASSIGN_OR_RETURN(answers_, workload::resolve_answers(profile_, {setup_.plan.request.set_options,
                                                                  setup_.plan.request.answers_file,
                                                                  environment_->dialogs}));
  append_all(warnings_, answers_.warnings);
  finish(std::move(asked.record));
  configs_ = workload::configs_json(setup_.plan, workload::interact_info(answers_)).dump();
  return ok_status();
}

void EvaluationRun::discard() {
  std::error_code ignored;
  fs::remove_all(session_.log_folder, ignored);
}

Status EvaluationRun::execute() {
  const fs::path staged_logs = std::exchange(session_.log_folder, setup_.folder / "logs");
  for (const char* part : {"logs", "outputs"}) {
    RETURN_IF_ERROR(check_writable_folder(setup_.folder / part, 0));
  }
  if (setup_.plan.request.keep_raw) {
    RETURN_IF_ERROR(check_writable_folder(setup_.folder / "raw", 0));
  }
  std::error_code ignored;
  fs::copy(staged_logs, session_.log_folder, fs::copy_options::overwrite_existing, ignored);
  fs::remove_all(staged_logs, ignored);
  ASSIGN_OR_RETURN(Journal journal,
                   Journal::open(setup_.folder / "journal.jsonl", setup_.plan.request.resume));
  journal_.emplace(std::move(journal));
  run_pre_optimize();
  run_compile();
  if (!setup_.plan.workload.compile_only) {
    run_reference();
    run_accuracy();
    run_numeric();
    skip("stability", "the stability matrix comes later");
    run_performance();
  }
  return setup_.plan.request.keep_raw ? keep_raw() : ok_status();
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
  if (!setup_.plan.model_file) return;
  const Result<ModelFile> again =
      read_model(setup_.plan.model_file->path, setup_.plan.model_file->format);
  if (!again.ok() || again->content_hash != setup_.plan.model_file->content_hash) {
    warnings_.emplace_back("The model's own file changed while pre_optimize ran.");
  }
}

void EvaluationRun::run_compile() {
  if (stopped() || !probe_) return skip("compile", "the backend is not available");
  begin("compile");
  const std::string key = step_key({});
  if (resume_compile(key)) return;
  const dataset::Dataset* calibration = setup_.data->calibration();
  CompileRequest request;
  request.configs = configs_;
  request.artifact_folder = setup_.folder / "artifact";
  request.calibration = calibration != nullptr ? calibration : setup_.data.get();
  request.calibration_disjoint = calibration != nullptr;
  PhaseResult<Compiled> compiled =
      compile_model(session_, setup_.manifest, request, *environment_->observer);
  compiled_ = std::move(compiled.value);
  if (compiled_) {
    compile_json_ = JsonValue(compile_json(*compiled_, compiled.record));
    if (compiled_->best_batch_sizes) {
      setup_.plan.batch_sizes = *compiled_->best_batch_sizes;
      notes_.emplace_back("The backend's own batch sizes replace the workload's.");
    }
    if (calibration == nullptr && probe_->need_quant) {
      notes_.emplace_back("Calibrated on evaluation data: the data set has no samples apart.");
    }
    note_in_journal("compile", key, compiled_journal_json(*compiled_, compiled.record));
  }
  finish(std::move(compiled.record));
}

bool EvaluationRun::needs_outputs() const {
  return setup_.plan.workload.test_accuracy || setup_.plan.workload.test_numeric;
}

std::int64_t EvaluationRun::pass_batch_size() const {
  return *std::max_element(setup_.plan.batch_sizes.begin(), setup_.plan.batch_sizes.end());
}

check::StoreIdentity EvaluationRun::store_identity() const {
  check::StoreIdentity identity;
  identity.model_hash = setup_.plan.model_file ? setup_.plan.model_file->content_hash : "";
  identity.dataset_hash = setup_.data->fingerprint();
  identity.executed_precision = compiled_->parsed.compile_precision;
  identity.backend = setup_.manifest.hardware_type + " " + probe_->version;
  return identity;
}

void EvaluationRun::run_reference() {
  if (stopped() || !needs_outputs()) return skip("reference", "nothing is compared");
  if (!compiled_) return skip("reference", "compile did not finish");
  begin("reference");
  ReferenceRequest request;
  request.plan = &setup_.plan;
  request.info = setup_.plan.model;
  request.model_hash = setup_.plan.model_file ? setup_.plan.model_file->content_hash : "";
  request.dataset = setup_.data.get();
  request.samples = setup_.samples;
  request.batch_size = pass_batch_size();
  request.cache = environment_->installation.cache / "reference";
  request.work_folder = setup_.folder / "reference";
  const auto fail = [&](const Status& status) {
    PhaseRecord record;
    record.name = "reference";
    record.end = {worker::Outcome::kFailed, status.to_string()};
    finish(std::move(record));
  };
  if (setup_.plan.reference) {
    request.info = *setup_.plan.reference;
    const Result<ModelFile> read = read_model(request.info.model_path, request.info.model_format);
    if (!read.ok()) return fail(read.status());
    request.model_hash = read->content_hash;
  }
  const Result<host::Manifest> cpu =
      host::find_backend(kReferenceBackend, environment_->installation.backends);
  if (!cpu.ok()) return fail(cpu.status());
  request.manifest = *cpu;
  const Result<std::string> hash = sha256_of_file(cpu->library_path());
  if (!hash.ok()) return fail(hash.status());
  request.library_hash = *hash;
  request.backend_version = probe_->version;
  const bool same_backend = cpu->hardware_type == setup_.manifest.hardware_type;
  if (!same_backend) {
    Status open_error;
    const PhaseResult<ProbeFacts> probed = probe_backend(session_, *cpu, open_error);
    if (!probed.value)
      return fail(open_error.ok() ? unavailable(probed.record.end.reason) : open_error);
    request.backend_version = probed.value->version;
  }
  self_comparison_ = same_backend && request.model_hash == store_identity().model_hash;
  PhaseResult<Reference> made = make_reference(session_, request, *environment_->observer);
  if (made.value) {
    reference_store_ = made.value->store;
    reference_json_ = JsonValue(Json{{"name", kReferenceBackend},
                                     {"version", request.backend_version},
                                     {"model", request.info.name},
                                     {"model_sha256", request.model_hash},
                                     {"executed_precision", made.value->executed_precision},
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
  if (resume_pass(key)) {
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
  if (pass_) note_in_journal("accuracy", key, pass_journal_json(*pass_));
  return record;
}

void EvaluationRun::run_accuracy() {
  if (stopped() || !setup_.plan.workload.test_accuracy) return skip("accuracy", "not asked for");
  if (!compiled_) return skip("accuracy", "compile did not finish");
  if (!setup_.metric || !has_labels(*setup_.data)) {
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
  accuracy_json_ = JsonValue(accuracy_json({.tested = &tested,
                                            .reference = reference ? &*reference : nullptr,
                                            .verdict = &verdict,
                                            .data_percent = setup_.plan.workload.data_percent,
                                            .dataset = setup_.data->name()}));
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
  comparison_.emplace(compare_outputs(*reference_store_, store_path(), options));
  return *comparison_;
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
      numeric_json_ = JsonValue(numeric_json(*report, tolerance_named()));
      criteria_.push_back(numeric_criterion(*report, tolerance_named()));
    } else {
      record.end = {worker::Outcome::kFailed, report.status().to_string()};
    }
  }
  record.wall_ns = now_ns() - start_ns;
  finish(std::move(record));
}

void EvaluationRun::measure_harness_overhead() {
  const Result<host::Manifest> null_backend =
      host::find_backend(kNullBackend, environment_->installation.backends);
  if (!null_backend.ok()) {
    warnings_.push_back("The harness's own overhead was not measured: " +
                        null_backend.status().message());
    return;
  }
  const Result<JsonValue> harness = measure_harness(session_, *null_backend);
  if (harness.ok()) {
    harness_json_ = *harness;
  } else {
    warnings_.push_back("The harness's own overhead was not measured: " +
                        harness.status().message());
  }
}

PerformanceRequest EvaluationRun::performance_request() const {
  const workload::Plan& plan = setup_.plan;
  PerformanceRequest request;
  request.session = session_;
  request.manifest = setup_.manifest;
  request.model = {configs_, compiled_->compile_result, compiled_->artifact_folder};
  request.dataset = setup_.fake_data ? setup_.fake_data.get() : setup_.data.get();
  request.usable_samples = setup_.fake_data ? setup_.fake_data->size() : setup_.samples;
  request.batch_axes = plan.model.batch_axes;
  request.batch_sizes = plan.batch_sizes;
  request.clients = static_cast<std::uint32_t>(plan.workload.clients);
  request.iterations = static_cast<std::uint64_t>(plan.workload.iterations);
  request.exact_iterations = plan.workload.exact_iterations;
  request.max_duration_ns = static_cast<std::int64_t>(plan.workload.max_duration_s * 1e9);
  request.rounds = plan.rounds;
  request.seed = plan.request.seed;
  if (plan.request.keep_raw) request.record_folder = setup_.folder / "raw";
  request.harness_overhead_ns =
      harness_json_.is_null() ? 0.0 : harness_json_->value("overhead_ns_p50", 0.0);
  if (pass_ && !setup_.fake_data) {
    request.accuracy_store = store_path();
    request.output_bytes_per_batch = pass_->output_bytes_per_batch;
    request.output_bytes_batch_size = pass_->loaded_batch_size;
    const Result<DType> precision = parse_dtype(compiled_->parsed.compile_precision);
    if (precision.ok()) request.match.executed_precision = *precision;
  }
  return request;
}

void EvaluationRun::run_performance() {
  if (stopped() || !setup_.plan.workload.test_perf) return skip("performance", "not asked for");
  if (!compiled_) return skip("performance", "compile did not finish");
  begin("performance");
  const std::string key = step_key({compiled_->artifact_hash, workload::to_json(setup_.plan).dump(),
                                    setup_.fake_data ? "fake data" : "data"});
  if (resume_performance(key)) return;
  measure_harness_overhead();
  const PerformanceRequest request = performance_request();
  const std::vector<MeasuredRow> rows = measure_rows(request, *environment_->observer);
  for (const MeasuredRow& row : rows) {
    records_.insert(records_.end(), row.records.begin(), row.records.end());
    if (row.phase.end.ok() && row.row.rounds.empty()) {
      skip("performance", "interrupted");
      continue;
    }
    if (!row.row.rounds.empty()) {
      workload::RunRequest alone = setup_.plan.request;
      alone.batch_sizes = {{row.asked_batch_size}};
      append(performance_json_,
             row_json(row,
                      {.inputs_source =
                           setup_.fake_data || setup_.plan.generated_data ? "generated" : "dataset",
                       .seed = request.seed,
                       .command = workload::command_line(alone)}));
    }
    finish(row.phase);
  }
  criteria_.push_back(performance_criterion(rows));
  if (interrupted_ || criteria_.back().outcome != "pass") return;
  note_in_journal("performance", key,
                  Json{{"rows", performance_json_.get()},
                       {"harness", harness_json_.get()},
                       {"criterion", to_json(criteria_.back())}});
}

// All that the numbers were made from, in a form that others read.
Status EvaluationRun::keep_raw() {
  RETURN_IF_ERROR(keep_raw_outputs());
  RETURN_IF_ERROR(keep_raw_latencies());
  std::error_code ignored;
  for (const fs::path& record : records_) fs::remove(record, ignored);
  return ok_status();
}

// One .npy per round: a row per call in the order they ended, {intended start, start, end} on
// CLOCK_MONOTONIC in nanoseconds, and the number of the query.
Status EvaluationRun::keep_raw_latencies() {
  for (const fs::path& record : records_) {
    ASSIGN_OR_RETURN(const std::string bytes, read_file(record));
    ASSIGN_OR_RETURN(const loadgen::RecordView view,
                     loadgen::parse(std::as_bytes(std::span(bytes))));
    for (std::size_t client = 0; client < view.clients.size(); ++client) {
      const std::string name = fmt::format("latency-{}-c{}.npy", record.stem().string(), client);
      ASSIGN_OR_RETURN(check::NpyWriter writer,
                       check::NpyWriter::open(setup_.folder / "raw" / name, DType::kInt64, {4}));
      for (const loadgen::Sample& sample : view.clients[client].samples) {
        const std::array<std::int64_t, 4> row = {sample.intended_start_ns, sample.start_ns,
                                                 sample.end_ns,
                                                 static_cast<std::int64_t>(sample.query)};
        RETURN_IF_ERROR(writer.append(std::as_bytes(std::span(row))));
      }
      RETURN_IF_ERROR(writer.finish());
      append(raw_json_,
             {{"what",
               fmt::format("calls of {}, client {}: intended start, start and end (ns, "
                           "CLOCK_MONOTONIC), query; {} calls came after these",
                           record.stem().string(), client,
                           view.clients[client].successes - view.clients[client].samples.size())},
              {"path", "raw/" + name},
              {"window_ns", view.window_ns()},
              {"window_start_ns", view.window_start_ns},
              {"window_end_ns", view.window_end_ns}});
    }
  }
  return ok_status();
}

// Outputs of the accuracy run as .npy files, a row per sample.
Status EvaluationRun::keep_raw_outputs() {
  if (!pass_) return ok_status();
  ASSIGN_OR_RETURN(check::OutputReader reader, check::OutputReader::open(store_path()));
  for (std::size_t k = 0; k < reader.outputs().size(); ++k) {
    const TensorSpec& spec = reader.outputs()[k];
    const std::string name = fmt::format("output-{}.npy", k);
    ASSIGN_OR_RETURN(check::NpyWriter writer,
                     check::NpyWriter::open(setup_.folder / "raw" / name, spec.dtype, spec.shape));
    for (std::uint64_t i = 0; i < reader.sample_count(); ++i) {
      ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, reader.output(i, k));
      RETURN_IF_ERROR(writer.append(bytes));
    }
    RETURN_IF_ERROR(writer.finish());
    append(raw_json_, {{"what", fmt::format("output \"{}\" of every sample, in order", spec.name)},
                       {"path", "raw/" + name}});
  }
  return ok_status();
}

}  // namespace assay::controller
