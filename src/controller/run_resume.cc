// The parts of EvaluationRun that take up an interrupted run from its journal.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "check/output_store.h"
#include "controller/build_info.h"
#include "controller/evaluation_run.h"
#include "controller/performance_criteria.h"
#include "controller/run_journal.h"
#include "controller/typed_object.h"

namespace assay::controller {
namespace {

Result<Criterion> criterion_from_journal(const TypedObject& entry) {
  ASSIGN_OR_RETURN(const TypedObject members, entry.object("criterion"));
  Criterion criterion;
  ASSIGN_OR_RETURN(criterion.name, members.text("name"));
  ASSIGN_OR_RETURN(criterion.outcome, members.text("outcome"));
  ASSIGN_OR_RETURN(criterion.found, members.text("found"));
  ASSIGN_OR_RETURN(criterion.wanted, members.text("wanted"));
  ASSIGN_OR_RETURN(criterion.detail, members.text("detail"));
  return criterion;
}

}  // namespace

// What every step depends on: the program, the backend and all that it loads, and the model with
// everything that the backend is told of it.
std::string EvaluationRun::step_key(const std::vector<std::string>& more) const {
  std::vector<std::string> parts = {
      build_info().version, build_info().git_commit,   library_hash_, libraries_hash_,
      probe_->version,      probe_->runtime_libraries, configs_,      setup_.model_files.hash};
  parts.insert(parts.end(), more.begin(), more.end());
  return key_of(parts);
}

std::vector<std::string> EvaluationRun::calibration_key() const {
  const dataset::Dataset* apart = setup_.data->calibration();
  const dataset::Dataset& data = apart != nullptr ? *apart : *setup_.data;
  return {data.fingerprint(), std::to_string(data.size()), apart != nullptr ? "apart" : "shared"};
}

// Not what only decides whether and how a run is made or judged: --resume, --strict, --timeout.
std::string EvaluationRun::performance_key() const {
  const workload::Plan& plan = setup_.plan;
  const dataset::Dataset& data = setup_.performance_data();
  return step_key({compiled_->artifact_hash, fmt::format("{}", fmt::join(plan.batch_sizes, ",")),
                   std::to_string(plan.rounds), std::to_string(plan.request.seed),
                   data.fingerprint(), std::to_string(setup_.samples),
                   pass_ ? "outputs compared" : "outputs not compared"});
}

std::string EvaluationRun::stability_key() const {
  const workload::Plan& plan = setup_.plan;
  return step_key({compiled_->artifact_hash, fmt::format("{}", fmt::join(plan.batch_sizes, ",")),
                   std::to_string(plan.request.seed), setup_.data->fingerprint(),
                   std::to_string(setup_.samples), plan.stability.text,
                   std::to_string(static_cast<int>(plan.workload.criteria.stability))});
}

// A journal that cannot be written costs the resumption, not the run; the report says so.
void EvaluationRun::note_in_journal(const std::string& step, const std::string& key,
                                    const Json& result) {
  const Status status = journal_->add(step, key, result);
  if (!status.ok()) warnings_.push_back("This run cannot be resumed: " + status.message());
}

bool EvaluationRun::resume_compile(const std::string& key) {
  const std::optional<JsonValue> found = journal_->find("compile", key);
  if (!found) return false;
  Result<Compiled> compiled = compiled_from_journal(found->get(), setup_.manifest.hardware_type,
                                                    setup_.folder / "artifact");
  if (!compiled.ok()) return false;
  PhaseRecord record;
  record.name = "compile";
  record.cached = true;
  take_compiled(std::move(compiled).value(), record);
  finish(std::move(record));
  return true;
}

bool EvaluationRun::resume_pass(const std::string& key) {
  const std::optional<JsonValue> found = journal_->find("accuracy", key);
  if (!found) return false;
  const Result<check::OutputReader> reader = check::OutputReader::open(store_path());
  if (!reader.ok() || !check::check_identity(reader->identity(), store_identity()).ok())
    return false;
  const Result<PassResult> pass = pass_from_journal(found->get());
  if (!pass.ok()) return false;
  pass_ = *pass;
  return true;
}

bool EvaluationRun::resume_performance(const std::string& key) {
  const std::optional<JsonValue> found = journal_->find("performance", key);
  if (!found || setup_.plan.request.keep_raw) return false;
  const Json& entry = found->get();
  const TypedObject members(entry, "the journal's entry of performance");
  const Result<std::vector<TypedObject>> rows = members.list("rows");
  const Result<Criterion> criterion = criterion_from_journal(members);
  const Result<bool> has_benchmark = members.flag("has_benchmark");
  if (!rows.ok() || !criterion.ok() || !has_benchmark.ok() || !entry.contains("harness")) {
    return false;
  }
  has_benchmark_ = *has_benchmark;
  std::vector<PhaseRecord> records;
  for (const TypedObject& row : *rows) {
    const Result<std::int64_t> batch_size = row.integer("asked_batch_size");
    if (!batch_size.ok() || !row.integer("batch_size").ok() || !row.text("command").ok()) {
      return false;
    }
    PhaseRecord record;
    record.name = "performance";
    record.batch_size = *batch_size;
    record.cached = true;
    records.push_back(std::move(record));
  }
  const Status judged = guard_json([&] {
    judge_named_bounds(setup_.plan.workload.criteria, entry["rows"], setup_.plan.batch_sizes);
    return ok_status();
  });
  if (!judged.ok()) return false;
  performance_json_ = JsonValue(entry["rows"]);
  harness_json_ = JsonValue(entry["harness"]);
  criteria_.push_back(*criterion);
  for (PhaseRecord& record : records) finish(std::move(record));
  return true;
}

bool EvaluationRun::resume_stability(const std::string& key) {
  const std::optional<JsonValue> found = journal_->find("stability", key);
  if (!found) return false;
  const TypedObject members(found->get(), "the journal's entry of stability");
  const Result<std::vector<TypedObject>> axes = members.list("axes");
  const Result<Criterion> criterion = criterion_from_journal(members);
  if (!axes.ok() || !criterion.ok()) return false;
  for (const TypedObject& axis : *axes) {
    if (!axis.text("axis").ok() || !axis.text("verdict").ok()) return false;
  }
  stability_json_ = JsonValue(found->get()["axes"]);
  criteria_.push_back(*criterion);
  PhaseRecord record;
  record.name = "stability";
  record.cached = true;
  finish(std::move(record));
  return true;
}

}  // namespace assay::controller
