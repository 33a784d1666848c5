#pragma once

// workloads/<task>.json: what to measure, how hard, and what passes.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json_file.h"
#include "base/result.h"

namespace assay::workload {

// A task passes when each criterion that it names is met. What is not named is judged by the
// defaults of measurement.md.
struct AccuracyCriteria {
  std::optional<double> min;           // of the metric itself, in its own unit
  std::optional<double> min_relative;  // share of the reference's value on the same samples, (0, 1]
};

struct NumericCriteria {
  std::optional<double> atol;
  std::optional<double> rtol;
};

enum class StabilityCriterion { kDefault, kNone, kNoiseFloor, kBitStable };

// An upper bound on one statistic of the latency of every row.
struct LatencyBound {
  std::string statistic;  // mean, p50, p90, p95, p99, p999, max
  double max_ms = 0;
};

struct Criteria {
  AccuracyCriteria accuracy;
  NumericCriteria numeric;
  StabilityCriterion stability = StabilityCriterion::kDefault;
  std::vector<LatencyBound> latency;
  std::optional<double> min_qps;
};

// A load pattern beyond the closed loop of `clients`; names as MLPerf defines them.
struct Scenario {
  std::string name;  // SingleStream, MultiStream, Offline, Server, ConstantRate, Search
  std::optional<double> target_qps;
  std::optional<double> latency_bound_ms;
  std::optional<double> percentile;  // that the bound holds at, (0, 100)
  std::optional<std::int64_t> samples_per_query;
  std::optional<double> duration_s;
};

struct Workload {
  std::string task;            // name of the file without .json; "" when there is no file
  std::filesystem::path file;  // as found; empty when there is none
  std::string model;           // name of model_zoo/<model>.json

  bool test_perf = true;
  bool test_accuracy = true;
  bool test_numeric = true;
  bool test_stability = true;

  std::int64_t clients = 1;
  std::int64_t iterations = 100;  // batches that each client submits per batch size
  bool exact_iterations = false;
  double max_duration_s = 60;                            // of one row
  std::optional<std::vector<std::int64_t>> batch_sizes;  // none: the model's choice
  bool fake_data = false;
  double data_percent = 100;  // share of the data set for accuracy, [1, 100]
  bool compile_only = false;
  std::vector<Scenario> scenarios;
  Criteria criteria;
};

// Reads and checks `path`; every problem of the file in one message.
Result<Workload> load_workload(const std::filesystem::path& path);

// The same for a document that is already parsed.
Result<Workload> parse_workload(const JsonFile& file);

// The workload as backends written for General Perf read it: {model, test_perf, test_accuracy,
// test_numeric, clients, iterations, batch_sizes, data_percent, compile_only, ...}. `batch_sizes`
// is always a list.
Json to_json(const Workload& workload);
Json to_json(const Criteria& criteria);

// Names of the tasks in `folder`, sorted: its *.json without the ending. kNotFound.
Result<std::vector<std::string>> list_tasks(const std::filesystem::path& folder);

}  // namespace assay::workload
