// The parts of EvaluationRun that take up an interrupted run from its journal.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "check/output_store.h"
#include "controller/evaluation_run.h"
#include "controller/run_journal.h"

namespace assay::controller {

std::string EvaluationRun::step_key(const std::vector<std::string>& more) const {
  std::vector<std::string> parts = {
      library_hash_, configs_, setup_.plan.model_file ? setup_.plan.model_file->content_hash : ""};
  parts.insert(parts.end(), more.begin(), more.end());
  return key_of(parts);
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
  compiled_ = std::move(compiled).value();
  PhaseRecord record;
  record.name = "compile";
  record.cached = true;
  compile_json_ = JsonValue(compile_json(*compiled_, record));
  if (compiled_->best_batch_sizes) setup_.plan.batch_sizes = *compiled_->best_batch_sizes;
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
  if (!entry.contains("rows") || !entry.contains("harness") || !entry.contains("criterion")) {
    return false;
  }
  performance_json_ = JsonValue(entry["rows"]);
  harness_json_ = JsonValue(entry["harness"]);
  const Json& criterion = entry["criterion"];
  criteria_.push_back({criterion.value("name", ""), criterion.value("outcome", ""),
                       criterion.value("found", ""), criterion.value("wanted", ""),
                       criterion.value("detail", "")});
  for (const Json& row : entry["rows"]) {
    PhaseRecord record;
    record.name = "performance";
    record.batch_size = row.value("asked_batch_size", std::int64_t{1});
    record.cached = true;
    finish(std::move(record));
  }
  return true;
}

}  // namespace assay::controller
