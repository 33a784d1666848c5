#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "check/noise_floor.h"
#include "check/numeric_verdict.h"
#include "controller/device_lock.h"
#include "controller/evaluation.h"
#include "controller/inference_pass.h"
#include "controller/journal.h"
#include "controller/kept_worker.h"
#include "controller/performance.h"
#include "controller/python_environment.h"
#include "controller/records.h"
#include "controller/reference.h"
#include "controller/run.h"
#include "controller/stability.h"
#include "controller/steps.h"
#include "dataset/dataset.h"
#include "host/manifest.h"
#include "model/model.h"
#include "model/model_files.h"
#include "workload/plan.h"

namespace assay::controller {

// All that was decided before the first worker starts.
struct Setup {
  workload::Plan plan;
  ModelFiles model_files;                       // of the model under test
  host::Manifest manifest;                      // of the backend under test
  std::unique_ptr<dataset::Dataset> data;       // for accuracy and numerics
  std::unique_ptr<dataset::Dataset> fake_data;  // for performance, when that is asked for; or null
  std::uint64_t samples = 0;                    // of `data` that are used
  std::optional<MetricSpec> metric;
  std::filesystem::path folder;  // of the run

  const dataset::Dataset& performance_data() const { return fake_data ? *fake_data : *data; }
};

// One evaluation, phase by phase. A phase that fails costs itself and what needs its result; the
// rest goes on, and result() always has everything that was found. One thread.
class EvaluationRun {
 public:
  EvaluationRun(Setup setup, const RunEnvironment& environment);

  // Probe and profile, once no other run has the device. An error is bad input: the backend's
  // library cannot be used, or an answer is refused; or kCancelled. Nothing was written to the
  // run's folder.
  Status prepare();
  // After prepare() failed: removes the logs that its workers left in the cache.
  void discard();

  // The phases that write, and the end of a worker that they shared. kInternal only: what a backend
  // does is in the result.
  Status execute();

  // result.json without General Perf's keys.
  Json result(std::int64_t wall_ns, const std::string& started_utc) const;

 private:
  bool stopped() const { return environment_->stop->load(); }
  void begin(const std::string& phase);
  void finish(PhaseRecord record);
  void skip(const std::string& phase, const std::string& reason);

  // A resumed run takes what an earlier one finished, when everything that it depends on is the
  // same.
  std::string step_key(const std::vector<std::string>& more) const;
  std::vector<std::string> calibration_key() const;
  std::string performance_key() const;
  std::string stability_key() const;
  bool resume_compile(const std::string& key);
  bool resume_pass(const std::string& key);
  bool resume_performance(const std::string& key);
  bool resume_stability(const std::string& key);
  void note_in_journal(const std::string& step, const std::string& key, const Json& result);

  Status run_phases();
  Status prepare_python();
  void close_worker();
  void take_facts();
  void add_backend_notes(const std::vector<std::string>& notes);
  void run_vendor_claim();
  Status claim_of(Session& session, std::int64_t batch_size);
  Json python_provenance() const;

  void run_pre_optimize();
  void run_compile();
  CompileRequest compile_request() const;
  void take_compiled(Compiled compiled, const PhaseRecord& record);
  bool calibrated_on_evaluation_data() const;
  void run_reference();
  void run_accuracy();
  void run_numeric();
  void count_segments();
  void note_dtypes(const check::NumericReport& report);
  void run_stability_matrix();
  StabilityRequest stability_request();
  void run_performance();
  void measure_performance();
  void measure_harness_overhead();
  bool needs_outputs() const;
  PhaseRecord run_pass();
  Status score();
  check::NumericCriterion numeric_wanted();
  std::string precision_to_explain() const;
  bool tolerance_named() const;
  const std::vector<check::NoiseFloor>& noise_floors();
  const Result<check::NumericReport>& comparison();
  void probe_pipeline_of(const check::NumericReport& report, Criterion& numeric);
  Status keep_raw();
  const Result<ReferenceRequest>& reference_request();
  Result<ReferenceRequest> make_reference_request();
  PerformanceRequest performance_request() const;
  std::int64_t pass_batch_size() const;
  check::StoreIdentity store_identity() const;
  std::filesystem::path store_path() const {
    return setup_.folder / "outputs" / "accuracy.outputs";
  }

  Json provenance() const;
  Json model_provenance() const;
  Json dataset_provenance() const;
  Json backend_provenance() const;
  bool simulated() const { return compiled_ && compiled_->parsed.simulated; }
  Json criteria_json() const;
  Json compile_with_coverage() const;
  Json reproduce_json() const;

  Setup setup_;
  const RunEnvironment* environment_;  // outlives the run
  KeptWorker kept_;
  SessionSettings session_;
  std::optional<PythonEnvironment> python_;  // of a Python backend
  std::filesystem::path staging_;            // in the cache: logs at first, where workers run
  std::optional<DeviceLock> device_;
  std::optional<Journal> journal_;
  std::string library_hash_;
  std::string libraries_hash_;  // of all that lie in the backend's folder
  std::string configs_;         // JSON text, as backends get it

  std::vector<PhaseRecord> phases_;
  std::vector<std::string> warnings_;
  std::vector<std::string> notes_;
  std::vector<Criterion> criteria_;
  bool interrupted_ = false;

  std::optional<ProbeFacts> probe_;
  workload::InteractProfile profile_;
  workload::Answers answers_;
  std::optional<Compiled> compiled_;
  JsonValue compile_json_;
  std::optional<Result<ReferenceRequest>> reference_request_;  // made when first asked for
  std::optional<std::filesystem::path> reference_store_;
  JsonValue reference_json_;
  bool self_comparison_ = false;
  std::vector<std::filesystem::path> records_;  // of the rounds of all rows
  bool pass_tried_ = false;
  std::optional<PassResult> pass_;
  std::optional<OperatorCount> operators_;                      // of a model in segments
  std::optional<Result<check::NumericReport>> comparison_;      // made when first asked for
  std::optional<std::vector<check::NoiseFloor>> noise_floors_;  // likewise
  JsonValue accuracy_json_;
  JsonValue numeric_json_;
  JsonValue pipeline_json_;
  JsonValue stability_json_;
  JsonValue performance_json_;
  bool has_benchmark_ = false;  // the backend has figures of its own
  JsonValue vendor_claim_json_;
  std::vector<std::string> backend_notes_;  // what the backend says of its own work
  JsonValue harness_json_;
  JsonValue raw_json_;
};

}  // namespace assay::controller
