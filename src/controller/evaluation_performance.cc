// The phase of an evaluation that measures rate and latency.

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/evaluation_run.h"
#include "controller/performance_criteria.h"
#include "controller/run_journal.h"

namespace assay::controller {
namespace {

constexpr const char* kNullBackend = "NULL";

}  // namespace

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
  request.dataset = &setup_.performance_data();
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
  if (pass_) {
    request.output_bytes_per_batch = pass_->output_bytes_per_batch;
    request.output_bytes_batch_size = pass_->loaded_batch_size;
  }
  if (pass_ && !setup_.fake_data) {
    request.accuracy_store = store_path();
    const Result<DType> precision = parse_dtype(compiled_->parsed.compile_precision);
    if (precision.ok()) request.match.executed_precision = *precision;
  }
  return request;
}

void EvaluationRun::run_performance() {
  measure_performance();
  if (!setup_.plan.workload.test_perf) return;
  for (Criterion& criterion : judge_named_bounds(
           setup_.plan.workload.criteria, performance_json_.get(), setup_.plan.batch_sizes)) {
    if (simulated()) {
      criterion.outcome = "inconclusive";
      criterion.detail = "the figures are those of a simulation on this host, not the device's";
    }
    criteria_.push_back(std::move(criterion));
  }
}

void EvaluationRun::measure_performance() {
  if (stopped() || !setup_.plan.workload.test_perf) return skip("performance", "not asked for");
  if (!compiled_) return skip("performance", "compile did not finish");
  begin("performance");
  const std::string key = performance_key();
  if (resume_performance(key)) return;
  measure_harness_overhead();
  const PerformanceRequest request = performance_request();
  const std::vector<MeasuredRow> rows = measure_rows(request, *environment_->observer);
  for (const MeasuredRow& row : rows) {
    records_.insert(records_.end(), row.records.begin(), row.records.end());
    has_benchmark_ = has_benchmark_ || row.has_benchmark;
    if (row.phase.end.ok() && row.row.rounds.empty()) {
      skip("performance", "interrupted");
      continue;
    }
    if (!row.row.rounds.empty()) {
      workload::RunRequest alone = setup_.plan.request;
      alone.batch_sizes = {{row.asked_batch_size}};
      performance_json_.mutable_value().push_back(row_json(
          row, {.inputs_source =
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
                       {"has_benchmark", has_benchmark_},
                       {"criterion", to_json(criteria_.back())}});
}

}  // namespace assay::controller
