#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "report/format.h"
#include "report/json.h"

// General Perf's keys, drawn from the typed record. Its readers expect milliseconds, seconds, per
// cent and "YYYY-MM-DD HH:MM:SS"; values stay unrounded.

namespace assay::report {
namespace {

// Json's own operator[] needs a key that is there; this follows a path as far as it goes.
template <typename... Keys>
const Json& follow(const Json& value, Keys... keys) {
  const Json* here = &value;
  ((here = &at(*here, keys)), ...);
  return *here;
}

Json number_or_null(std::optional<double> value, double factor = 1.0) {
  return value ? finite_or_null(*value * factor) : Json(nullptr);
}

// The measured count, else the declared one.
Json count_of(const Json& result, std::string_view key) {
  const Json& measured = follow(result, "compile", "measured", key);
  return measured.is_null() ? follow(result, "compile", "declared", key) : measured;
}

// What was counted, else what the backend claims.
std::optional<double> coverage_percent(const Json& result) {
  const auto counted = number_at(follow(result, "compile", "coverage"), "operators_percent");
  return counted ? counted : number_at(follow(result, "compile", "declared"), "sg_percent");
}

Json graph_compile(const Json& result) {
  const Json& declared = follow(result, "compile", "declared");
  const Json& measured = follow(result, "compile", "measured");
  const Json& optimizations = at(declared, "optimizations");
  return {{"Compile Duration", number_or_null(number_at(measured, "wall_ns"), 1e-9)},
          {"Compile Precision", at(declared, "compile_precision")},
          {"Subgraph Coverage", number_or_null(coverage_percent(result))},
          {"Optimizations", optimizations.is_object() ? optimizations : Json::object()}};
}

Json execution_date(const Json& result) {
  std::string text = string_at(result, "started_utc");
  if (text.size() != std::string_view("2026-01-31T10:00:00Z").size()) return nullptr;
  text[10] = ' ';
  text.pop_back();
  return text;
}

// Differences of all outputs together, weighted by their elements.
struct PooledDifference {
  double elements = 0, sum = 0, squares = 0;
  double relative_elements = 0, relative_sum = 0;
  std::optional<double> max_abs, max_rel;
};

void raise_to(std::optional<double>& largest, std::optional<double> value) {
  if (value) largest = std::max(largest.value_or(*value), *value);
}

PooledDifference pool(const Json& outputs) {
  PooledDifference pooled;
  for (const Json& output : outputs) {
    const auto elements = number_at(output, "elements").value_or(0);
    const double compared = number_at(output, "compared").value_or(elements);
    const auto mean = number_at(output, "mean_abs");
    const double deviation = number_at(output, "std_abs").value_or(0);
    if (mean && compared > 0) {
      pooled.elements += compared;
      pooled.sum += compared * *mean;
      pooled.squares += compared * (deviation * deviation + *mean * *mean);
    }
    const double relative = number_at(output, "relative_elements").value_or(compared);
    if (const auto mean_rel = number_at(output, "mean_rel"); mean_rel && relative > 0) {
      pooled.relative_elements += relative;
      pooled.relative_sum += relative * *mean_rel;
    }
    raise_to(pooled.max_abs, number_at(output, "max_abs"));
    raise_to(pooled.max_rel, number_at(output, "max_rel"));
  }
  return pooled;
}

void add_differences(const Json& result, Json& accuracy) {
  const PooledDifference pooled = pool(list_at(result, "numeric"));
  std::optional<double> mean, deviation, mean_rel;
  if (pooled.elements > 0) {
    mean = pooled.sum / pooled.elements;
    deviation = std::sqrt(std::max(0.0, pooled.squares / pooled.elements - *mean * *mean));
  }
  if (pooled.relative_elements > 0) mean_rel = pooled.relative_sum / pooled.relative_elements;
  accuracy["Mean Diff"] = number_or_null(mean);
  accuracy["Std Diff"] = number_or_null(deviation);
  accuracy["Max Diff"] = number_or_null(pooled.max_abs);
  accuracy["Max Rel-Diff"] = number_or_null(pooled.max_rel);
  accuracy["Mean Rel-Diff"] = number_or_null(mean_rel);
  accuracy["Diff Dist"] =
      list_at(result, "numeric").empty() ? Json(nullptr) : Json("report.html#numeric");
}

Json accuracy(const Json& result) {
  const Json& typed = at(result, "accuracy");
  Json legacy = Json::object();
  legacy["Data Percent"] = number_or_null(number_at(typed, "data_percent"));
  if (const std::string metric = string_at(typed, "metric"); !metric.empty()) {
    legacy[metric_name(metric)] = number_or_null(number_at(typed, "value"));
  }
  if (const Json& extra = at(typed, "extra"); extra.is_object()) {
    for (const auto& other : extra.items()) {
      legacy[metric_name(other.key())] = number_or_null(number_at(extra, other.key()));
    }
  }
  add_differences(result, legacy);
  return legacy;
}

Json performance(const Json& result) {
  Json rows = Json::array();
  for (const Json& row : list_at(result, "performance")) {
    // Its readers would take the times of a simulation for the device's.
    if (bool_at(row, "simulated")) {
      rows.push_back({{"BS", at(row, "batch_size")},
                      {"QPS", nullptr},
                      {"AVG Latency", nullptr},
                      {"P99 Latency", nullptr},
                      {"simulated", true}});
      continue;
    }
    const Json& latency = at(row, "latency_ns");
    rows.push_back({{"BS", at(row, "batch_size")},
                    {"QPS", number_or_null(number_at(row, "qps"))},
                    {"AVG Latency", number_or_null(number_at(latency, "mean"), 1e-6)},
                    {"P99 Latency", number_or_null(number_at(latency, "p99"), 1e-6)}});
  }
  return rows;
}

struct LegacyKey {
  const char* name;
  Json (*value)(const Json& result);
};

// In the order in which General Perf writes them.
const std::array<LegacyKey, 11> kLegacyKeys{{
    {"Model", [](const Json& r) { return at(r, "task"); }},
    {"Backend", [](const Json& r) { return at(r, "hardware_type"); }},
    {"Host Info", [](const Json& r) { return follow(r, "provenance", "host", "cpu_model"); }},
    {"Dataset", [](const Json& r) { return follow(r, "provenance", "dataset", "name"); }},
    {"Instance Count", [](const Json& r) { return count_of(r, "instance_count"); }},
    {"Device Count", [](const Json& r) { return count_of(r, "device_count"); }},
    {"Graph Compile", graph_compile},
    {"Version", [](const Json& r) { return at(r, "assay_version"); }},
    {"Execution Date", execution_date},
    {"Accuracy", accuracy},
    {"Performance", performance},
}};

}  // namespace

void add_legacy_keys(Json& result) {
  if (!result.is_object()) return;
  Json complete = Json::object();
  for (const LegacyKey& key : kLegacyKeys) complete[key.name] = key.value(result);
  for (const auto& member : result.items()) {
    if (!complete.contains(member.key())) complete[member.key()] = member.value();
  }
  result = std::move(complete);
}

}  // namespace assay::report
