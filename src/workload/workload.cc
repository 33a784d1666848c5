#include "workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "workload/schemas.h"

namespace assay::workload {
namespace fs = std::filesystem;
namespace {

// Statistics that a latency criterion may bound; a later one is never smaller than an earlier.
constexpr std::array<std::string_view, 6> kOrderedStatistics = {"p50", "p90",  "p95",
                                                                "p99", "p999", "max"};

constexpr std::array<std::pair<std::string_view, StabilityCriterion>, 3> kStabilityNames = {{
    {"none", StabilityCriterion::kNone},
    {"noise_floor", StabilityCriterion::kNoiseFloor},
    {"bit_stable", StabilityCriterion::kBitStable},
}};

template <typename T>
std::optional<T> optional_value(const Json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || member->is_null()) return std::nullopt;
  return member->get<T>();
}

Scenario read_scenario(const Json& json) {
  return {json.at("name").get<std::string>(),
          optional_value<double>(json, "target_qps"),
          optional_value<double>(json, "latency_bound_ms"),
          optional_value<double>(json, "percentile"),
          optional_value<std::int64_t>(json, "samples_per_query"),
          optional_value<double>(json, "duration_s")};
}

Criteria read_criteria(const Json& json) {
  Criteria criteria;
  const Json accuracy = json.value("accuracy", Json::object());
  criteria.accuracy.min = optional_value<double>(accuracy, "min");
  criteria.accuracy.min_relative = optional_value<double>(accuracy, "min_relative");
  const Json numeric = json.value("numeric", Json::object());
  criteria.numeric.atol = optional_value<double>(numeric, "atol");
  criteria.numeric.rtol = optional_value<double>(numeric, "rtol");
  const std::string stability = json.value("stability", "");
  for (const auto& [name, criterion] : kStabilityNames) {
    if (name == stability) criteria.stability = criterion;
  }
  const Json latency = json.value("latency", Json::object());
  for (const auto& member : latency.items()) {
    const std::string& key = member.key();
    criteria.latency.push_back({key.substr(0, key.size() - 3), member.value().get<double>()});
  }
  criteria.min_qps = optional_value<double>(json, "min_qps");
  return criteria;
}

void check_both_spellings(const JsonFile& file, std::vector<Problem>& problems) {
  if (!file.value().contains("batch_sizes") || !file.value().contains("batchsizes")) return;
  problems.push_back(file.key_problem(
      "/batchsizes", "given as \"batch_sizes\" too; accepted: one of the two spellings"));
}

void check_something_is_measured(const JsonFile& file, const Workload& workload,
                                 std::vector<Problem>& problems) {
  if (workload.test_perf || workload.test_accuracy || workload.test_numeric ||
      workload.test_stability || workload.compile_only) {
    return;
  }
  problems.push_back(
      file.problem("",
                   "measures nothing: test_perf, test_accuracy, test_numeric, test_stability and "
                   "compile_only are all false, accepted: at least one true"));
}

// A bound on what is not measured would never be judged.
void check_criteria_are_measured(const JsonFile& file, const Workload& workload,
                                 std::vector<Problem>& problems) {
  struct Row {
    const char* criterion;
    bool measured;
    const char* key;
  };
  const std::array<Row, 5> rows = {{{"accuracy", workload.test_accuracy, "test_accuracy"},
                                    {"numeric", workload.test_numeric, "test_numeric"},
                                    {"stability", workload.test_stability, "test_stability"},
                                    {"latency", workload.test_perf, "test_perf"},
                                    {"min_qps", workload.test_perf, "test_perf"}}};
  const Json criteria = file.value().value("criteria", Json::object());
  for (const Row& row : rows) {
    if (row.measured || !criteria.contains(row.criterion)) continue;
    problems.push_back(
        file.key_problem(fmt::format("/criteria/{}", row.criterion),
                         fmt::format("cannot be judged, since \"{}\" is false", row.key)));
  }
}

void check_latency_order(const JsonFile& file, const Criteria& criteria,
                         std::vector<Problem>& problems) {
  const LatencyBound* before = nullptr;
  for (const std::string_view statistic : kOrderedStatistics) {
    const auto bound = std::find_if(
        criteria.latency.begin(), criteria.latency.end(),
        [&](const LatencyBound& candidate) { return candidate.statistic == statistic; });
    if (bound == criteria.latency.end()) continue;
    if (before != nullptr && bound->max_ms < before->max_ms) {
      problems.push_back(file.problem(
          fmt::format("/criteria/latency/{}_ms", statistic),
          fmt::format("found {}, accepted: at least the {} of {}_ms, since {} is never below {}",
                      bound->max_ms, before->max_ms, before->statistic, statistic,
                      before->statistic)));
    }
    before = &*bound;
  }
}

Workload read_fields(const Json& json) {
  Workload workload;
  workload.model = json.at("model").get<std::string>();
  workload.test_perf = json.value("test_perf", true);
  workload.test_accuracy = json.value("test_accuracy", true);
  workload.test_numeric = json.value("test_numeric", true);
  workload.test_stability = json.value("test_stability", true);
  workload.clients = json.value("clients", workload.clients);
  workload.iterations = json.value("iterations", workload.iterations);
  workload.exact_iterations = json.value("exact_iterations", false);
  workload.max_duration_s = json.value("max_duration_s", workload.max_duration_s);
  for (const char* key : {"batchsizes", "batch_sizes"}) {
    if (json.contains(key)) workload.batch_sizes = json.at(key).get<std::vector<std::int64_t>>();
  }
  workload.fake_data = json.value("fake_data", false);
  workload.data_percent = json.value("data_percent", workload.data_percent);
  workload.compile_only = json.value("compile_only", false);
  for (const Json& scenario : json.value("scenarios", Json::array())) {
    workload.scenarios.push_back(read_scenario(scenario));
  }
  workload.criteria = read_criteria(json.value("criteria", Json::object()));
  return workload;
}

// Whole numbers without a fraction, as the files have them.
Json number(double value) {
  const auto whole = static_cast<std::int64_t>(value);  // a percentage
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

void put(Json& json, const char* key, const std::optional<double>& value) {
  if (value) json[key] = *value;
}

Json to_json(const Scenario& scenario) {
  Json json = {{"name", scenario.name}};
  put(json, "target_qps", scenario.target_qps);
  put(json, "latency_bound_ms", scenario.latency_bound_ms);
  put(json, "percentile", scenario.percentile);
  if (scenario.samples_per_query) json["samples_per_query"] = *scenario.samples_per_query;
  put(json, "duration_s", scenario.duration_s);
  return json;
}

}  // namespace

Result<Workload> load_workload(const fs::path& path) {
  ASSIGN_OR_RETURN(const JsonFile file, JsonFile::read(path));
  ASSIGN_OR_RETURN(Workload workload, parse_workload(file));
  workload.file = path;
  workload.task = path.stem().native();
  return workload;
}

Result<Workload> parse_workload(const JsonFile& file) {
  if (file.empty()) {
    return to_status({file.problem("", "the file is empty, accepted: an object")});
  }
  std::vector<Problem> problems = check_schema(workload_schema_json, file);
  if (file.value().is_object()) check_both_spellings(file, problems);
  if (!problems.empty()) return to_status(std::move(problems));
  Workload workload = read_fields(file.value());
  check_something_is_measured(file, workload, problems);
  check_criteria_are_measured(file, workload, problems);
  check_latency_order(file, workload.criteria, problems);
  if (!problems.empty()) return to_status(std::move(problems));
  return workload;
}

Json to_json(const Criteria& criteria) {
  Json json = Json::object();
  put(json["accuracy"], "min", criteria.accuracy.min);
  put(json["accuracy"], "min_relative", criteria.accuracy.min_relative);
  put(json["numeric"], "atol", criteria.numeric.atol);
  put(json["numeric"], "rtol", criteria.numeric.rtol);
  for (const auto& [name, criterion] : kStabilityNames) {
    if (criterion == criteria.stability) json["stability"] = name;
  }
  for (const LatencyBound& bound : criteria.latency) {
    json["latency"][bound.statistic + "_ms"] = bound.max_ms;
  }
  put(json, "min_qps", criteria.min_qps);
  for (const char* key : {"accuracy", "numeric"}) {
    if (json[key].is_null()) json.erase(key);
  }
  return json;
}

Json to_json(const Workload& workload) {
  Json json = {{"model", workload.model},
               {"test_perf", workload.test_perf},
               {"test_accuracy", workload.test_accuracy},
               {"test_numeric", workload.test_numeric},
               {"test_stability", workload.test_stability},
               {"clients", workload.clients},
               {"iterations", workload.iterations},
               {"exact_iterations", workload.exact_iterations},
               {"max_duration_s", workload.max_duration_s},
               {"batch_sizes", workload.batch_sizes.value_or(std::vector<std::int64_t>{})},
               {"fake_data", workload.fake_data},
               {"data_percent", number(workload.data_percent)},
               {"compile_only", workload.compile_only}};
  json["scenarios"] = Json::array();
  for (const Scenario& scenario : workload.scenarios) {
    json["scenarios"].push_back(to_json(scenario));
  }
  json["criteria"] = to_json(workload.criteria);
  return json;
}

Result<std::vector<std::string>> list_tasks(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> tasks;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    if (path.extension() == ".json") tasks.push_back(path.stem().native());
  }
  if (error) return errno_status(error.value(), "cannot list " + quoted(folder));
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

}  // namespace assay::workload
