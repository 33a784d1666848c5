#include "controller/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace assay::controller {
namespace {

Json interval_json(const check::AccuracyResult& result) {
  return Json::array({result.interval_low, result.interval_high});
}

// "not judged" of the check room is "not_judged" in criteria.
std::string criterion_outcome(check::Verdict verdict) {
  std::string text(check::name_of(verdict));
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

const workload::Answer* find_answer(const workload::Answers& answers, const std::string& name) {
  for (const workload::Answer& answer : answers.given) {
    if (answer.name == name) return &answer;
  }
  return nullptr;
}

std::string_view type_name(workload::AnswerType type) {
  switch (type) {
    case workload::AnswerType::kBool:
      return "bool";
    case workload::AnswerType::kInt:
      return "int";
    case workload::AnswerType::kFloat:
      return "float";
    case workload::AnswerType::kString:
      break;
  }
  return "str";
}

Json files_json(const std::vector<ArtifactFile>& files) {
  Json list = Json::array();
  for (const ArtifactFile& file : files) {
    list.push_back({{"path", file.path}, {"size_bytes", file.size_bytes}, {"sha256", file.sha256}});
  }
  return list;
}

double mean_of(std::int64_t total_ns, std::uint64_t calls) {
  return calls == 0 ? 0.0 : static_cast<double>(total_ns) / static_cast<double>(calls);
}

}  // namespace

Json phase_json(const PhaseRecord& record) {
  Json json{{"name", record.name},
            {"outcome", worker::name_of(record.end.outcome)},
            {"reason", record.end.reason},
            {"wall_ns", record.wall_ns},
            {"peak_rss_bytes", record.peak_rss_bytes ? Json(*record.peak_rss_bytes) : Json()},
            {"cached", record.cached}};
  if (record.batch_size) json["batch_size"] = *record.batch_size;
  if (!record.end.stack.empty()) json["stack"] = record.end.stack;
  return json;
}

// Where an answer came from; what there is instead of one.
std::string_view source_of(const workload::Answers& answers, const std::string& question) {
  if (const workload::Answer* answer = find_answer(answers, question)) {
    return workload::name_of(answer->source);
  }
  const bool skipped = std::ranges::find(answers.skipped, question) != answers.skipped.end();
  return skipped ? "not asked" : "none";
}

Json questions_json(const workload::InteractProfile& profile, const workload::Answers& answers) {
  Json list = Json::array();
  for (const workload::Question& question : profile.questions) {
    const workload::Answer* answer = find_answer(answers, question.name);
    list.push_back({{"name", question.name},
                    {"note", question.note},
                    {"type", type_name(question.type)},
                    {"answer", answer == nullptr ? Json() : *answer->value},
                    {"source", source_of(answers, question.name)}});
  }
  return list;
}

void mark_simulated(Json& result) {
  result["simulated"] = true;
  for (const char* key : {"compile", "accuracy", "pipeline"}) {
    if (result[key].is_object()) result[key]["simulated"] = true;
  }
  for (const char* key : {"numeric", "stability", "performance", "vendor_claim"}) {
    for (Json& item : result[key]) item["simulated"] = true;
  }
}

Json compile_json(const Compiled& compiled, const PhaseRecord& phase) {
  const Json& document = *compiled.parsed.document;
  Json notes = Json::array();
  for (const std::string& warning : compiled.parsed.warnings) notes.push_back(warning);
  return Json{{"declared", document},
              {"measured",
               {{"wall_ns", compiled.wall_ns},
                {"peak_rss_bytes", phase.peak_rss_bytes ? Json(*phase.peak_rss_bytes) : Json()},
                {"cache_hit", phase.cached},
                {"instance_count", nullptr},
                {"device_count", nullptr},
                {"files", files_json(compiled.files)}}},
              {"notes", notes}};
}

Json accuracy_json(const AccuracyFacts& facts) {
  Json json = check::to_json(*facts.tested);
  const check::MetricDescription* metric = check::find_metric(facts.tested->metric);
  json["higher_is_better"] = metric == nullptr || metric->higher_is_better;
  json["reference_value"] = facts.reference == nullptr ? Json() : Json(facts.reference->value);
  json["reference_interval"] =
      facts.reference == nullptr ? Json() : interval_json(*facts.reference);
  if (facts.reference != nullptr) json["reference_extra"] = facts.reference->extra;
  if (facts.verdict != nullptr) {
    const Json verdict = check::to_json(*facts.verdict);
    json["judged"] = verdict.value("criteria", Json::array());
  }
  json["data_percent"] = facts.data_percent;
  json["dataset"] = facts.dataset;
  json["failed_samples"] = 0;
  json["calibrated_on_evaluation_data"] = facts.calibrated_on_evaluation_data;
  return json;
}

Json numeric_json(const check::NumericReport& report, const check::NumericCriterion& wanted) {
  Json list = Json::array();
  for (const check::NumericResult& output : report.outputs) {
    Json json = check::to_json(output);
    const check::NumericVerdict verdict = check::judge_numeric(output, wanted);
    const check::NoiseFloor* floor = check::find_floor(wanted.floors, output.output);
    json["noise_floor"] = floor == nullptr ? Json() : check::to_json(*floor);
    json["placement"] = check::name_of(check::place(output, floor));
    json["judged"] = check::name_of(verdict.verdict);
    json["reason"] = verdict.reason;
    list.push_back(std::move(json));
  }
  return list;
}

Json row_json(const MeasuredRow& row, const RowFacts& facts) {
  Json json = loadgen::to_json(row.row);
  json["asked_batch_size"] = row.asked_batch_size;
  Json shapes = Json::object();
  for (const TensorSpec& spec : row.inputs) shapes[spec.name] = spec.shape;
  json["input_shapes"] = shapes;
  json["inputs"] = {{"source", facts.inputs_source},
                    {"seed", facts.seed},
                    {"distinct", row.distinct_inputs},
                    {"repeated_rate_ratio", row.repeat ? Json(row.repeat->rate_ratio) : Json()},
                    {"cache_suspected", row.repeat ? Json(row.repeat->cache_suspected) : Json()}};
  if (row.match) {
    json["outputs_checked"] = check::to_json(*row.match);
    json["outputs_checked"]["checked"] = row.match->compared;
    json["outputs_checked"]["differing"] = row.match->drifted;
  }
  json["controller_window_ns"] = row.controller_window_ns;
  json["conversion_ns_mean"] = mean_of(row.conversion_ns, row.calls);
  json["instance_wait_ns_mean"] = mean_of(row.instance_wait_ns, row.calls);
  if (row.interpreter_lock) {
    json["interpreter_lock_wait_ns_mean"] =
        mean_of(row.interpreter_lock->wait_ns, row.interpreter_lock->calls);
  }
  json["time"] = {{"load_ns", row.load_ns},
                  {"warmup_ns", row.warmup_ns},
                  {"window_ns", row.window_ns},
                  {"repeated_ns", row.repeated_ns}};
  json["command"] = facts.command;
  return json;
}

Json to_json(const Criterion& criterion) {
  return Json{{"name", criterion.name},
              {"outcome", criterion.outcome},
              {"found", criterion.found},
              {"wanted", criterion.wanted},
              {"detail", criterion.detail}};
}

Criterion accuracy_criterion(const check::AccuracyVerdict& verdict) {
  Criterion criterion{"accuracy", criterion_outcome(verdict.verdict), "", "", ""};
  for (const check::CriterionResult& part : verdict.criteria) {
    const char* separator = criterion.wanted.empty() ? "" : "; ";
    criterion.wanted += separator + part.criterion;
    criterion.found += separator + part.reason;
    criterion.detail += separator + part.method;
    if (part.samples_needed) {
      criterion.detail += fmt::format(" (about {} samples would decide it)", *part.samples_needed);
    }
  }
  return criterion;
}

Criterion numeric_criterion(const check::NumericReport& report,
                            const check::NumericCriterion& wanted) {
  const check::NumericVerdict verdict = check::judge_numeric(report, wanted);
  std::uint64_t mismatches = 0;
  std::uint64_t elements = 0;
  std::optional<double> largest;
  for (const check::NumericResult& output : report.outputs) {
    mismatches += output.nonfinite_mismatches;
    elements += output.elements;
    if (output.max_abs) largest = std::max(largest.value_or(0), *output.max_abs);
  }
  return {"numeric", criterion_outcome(verdict.verdict),
          fmt::format("{} non-finite mismatches in {} values; {}{}", mismatches, elements,
                      largest ? fmt::format("largest difference {:.4g}", *largest)
                              : "none is finite on both sides",
                      report.identical ? "; identical" : ""),
          wanted.tolerance_named
              ? "no non-finite mismatch, every value within the workload's tolerance"
              : "no non-finite mismatch, no error beyond the bound of the executed precision",
          verdict.reason};
}

namespace {

// A row that a disturbed host may have voided: nothing failed in it, and its outputs are right.
bool maybe_disturbed(const MeasuredRow& row) {
  const bool drifted = row.match && row.match->drifted > 0;
  return row.row.noisy && row.row.failures == 0 && !drifted;
}

}  // namespace

Criterion performance_criterion(const std::vector<MeasuredRow>& rows) {
  std::size_t valid = 0;
  std::size_t disturbed = 0;
  std::size_t unfinished = 0;
  std::string detail;
  for (const MeasuredRow& row : rows) {
    const bool finished = row.phase.end.ok() && !row.row.rounds.empty();
    if (finished && row.row.valid) {
      ++valid;
      continue;
    }
    if (!finished) {
      ++unfinished;
    } else if (maybe_disturbed(row)) {
      ++disturbed;
    }
    if (row.phase.end.outcome == worker::Outcome::kSkipped) continue;
    const std::string reason = !row.phase.end.ok()       ? row.phase.end.reason
                               : row.row.reasons.empty() ? ""
                                                         : row.row.reasons.front();
    detail += fmt::format("{}batch size {}: {}", detail.empty() ? "" : "; ", row.asked_batch_size,
                          reason);
  }
  std::string outcome = "fail";
  if (valid + disturbed + unfinished == rows.size()) {
    outcome = unfinished > 0 ? "skipped" : disturbed > 0 ? "inconclusive" : "pass";
  }
  if (disturbed > 0) detail += "; the host was disturbed, an idle one decides";
  return {"performance", outcome, fmt::format("{} of {} rows valid", valid, rows.size()),
          "every row valid", detail};
}

std::string overall_verdict(const std::vector<Criterion>& criteria,
                            const std::vector<PhaseRecord>& phases, bool interrupted) {
  const auto any = [&](std::string_view outcome) {
    return std::any_of(criteria.begin(), criteria.end(),
                       [&](const Criterion& c) { return c.outcome == outcome; });
  };
  if (any("fail")) return "fail";
  const bool broken = std::any_of(phases.begin(), phases.end(), [](const PhaseRecord& phase) {
    return phase.end.outcome != worker::Outcome::kOk &&
           phase.end.outcome != worker::Outcome::kSkipped;
  });
  if (interrupted || broken) return "incomplete";
  // That it is fast says nothing about whether it is right.
  const auto is_right = [](const Criterion& c) {
    return c.name == "accuracy" || c.name == "numeric";
  };
  const bool asked = std::any_of(criteria.begin(), criteria.end(), is_right);
  const bool right = std::any_of(criteria.begin(), criteria.end(), [&](const Criterion& c) {
    return is_right(c) && c.outcome == "pass";
  });
  const bool undecided = any("inconclusive") || !any("pass") || (asked && !right);
  return undecided ? "inconclusive" : "pass";
}

}  // namespace assay::controller
