#include <nlohmann/json.hpp>

#include "loadgen/row.h"

namespace assay::loadgen {
namespace {

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json interval_json(const std::optional<Interval>& interval) {
  return interval ? Json::array({interval->low, interval->high}) : Json(nullptr);
}

Json percentiles_json(const PercentileValues& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    json[std::string(kPercentiles[i].name)] = optional_json(values[i]);
  }
  return json;
}

Json latency_json(const LatencySummary& latency) {
  Json json{{"mean", optional_json(latency.mean_ns)}, {"min", optional_json(latency.min_ns)}};
  json.update(percentiles_json(latency.percentiles_ns));
  json["max"] = optional_json(latency.max_ns);
  return json;
}

Json withheld_json(const std::vector<Withheld>& withheld) {
  Json json = Json::array();
  for (const Withheld& one : withheld) {
    json.push_back({{"percentile", one.name},
                    {"samples_needed", one.needed},
                    {"samples_effective", one.have},
                    {"reason", one.reason}});
  }
  return json;
}

Json intervals_json(const RowIntervals& intervals) {
  Json latency = Json::object();
  latency["mean"] = interval_json(intervals.mean_ns);
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    latency[std::string(kPercentiles[i].name)] = interval_json(intervals.percentiles_ns[i]);
  }
  return {{"confidence", 0.95},
          {"method", "block bootstrap over rounds"},
          {"qps", interval_json(intervals.qps)},
          {"latency_ns", std::move(latency)}};
}

Json warmup_json(const WarmupRecord& warmup) {
  return {{"calls", warmup.calls},
          {"duration_ns", warmup.duration_ns},
          {"steady", warmup.steady},
          {"last_median_ns", warmup.last_median_ns},
          {"previous_median_ns", warmup.previous_median_ns},
          {"failures", warmup.failures}};
}

std::string_view end_reason_name(EndReason reason) {
  switch (reason) {
    case EndReason::kWorkDone:
      return "work_done";
    case EndReason::kMaxDuration:
      return "max_duration";
    case EndReason::kTooManyFailures:
      return "too_many_failures";
    case EndReason::kStopped:
      return "stopped";
    case EndReason::kNone:
      break;
  }
  return "none";
}

Json little_json(const LittleCheck& little) {
  return {{"rate_times_latency", little.rate_times_latency},
          {"in_flight", little.in_flight},
          {"tolerance", little.tolerance},
          {"clients_tolerance", little.clients_tolerance},
          {"holds", little.holds()}};
}

Json round_json(const RoundSummary& round) {
  const auto drift = round.thirds ? round.thirds->drift() : std::nullopt;
  return {{"qps", round.window_ns > 0 ? Json(round.qps) : Json(nullptr)},
          {"samples", round.samples},
          {"completed_in_window", round.completed_in_window},
          {"window_ns", round.window_ns},
          {"mean_ns", optional_json(round.mean_ns)},
          {"third_drift", optional_json(drift)},
          {"lag1_autocorrelation", round.autocorrelation.lag1},
          {"effective_samples", round.autocorrelation.effective_n},
          {"ended_by", end_reason_name(round.end_reason)},
          {"little", little_json(round.little)},
          {"warmup", warmup_json(round.warmup)}};
}

Json histogram_json(const std::vector<HistogramBin>& bins) {
  Json json = Json::array();
  for (const HistogramBin& bin : bins) {
    json.push_back({{"low_ns", bin.low_ns}, {"high_ns", bin.high_ns}, {"count", bin.count}});
  }
  return json;
}

Json course_json(const std::vector<TimePoint>& points) {
  Json json = Json::array();
  for (const TimePoint& point : points) {
    json.push_back({{"round", point.round},
                    {"at_ns", point.at_ns},
                    {"count", point.count},
                    {"mean_ns", point.mean_ns},
                    {"max_ns", point.max_ns}});
  }
  return json;
}

template <typename T>
Json list_json(const std::vector<T>& values, Json (*one)(const T&)) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(one(value));
  return json;
}

}  // namespace

Json to_json(const PerformanceRow& row) {
  return {{"batch_size", row.batch_size},
          {"clients", row.clients},
          {"backend_instances", optional_json(row.backend_instances)},
          {"scenario", row.scenario},
          {"qps", optional_json(row.qps)},
          {"in_flight", optional_json(row.in_flight)},
          {"samples", row.samples},
          {"effective_samples", row.effective_samples},
          {"failures", row.failures},
          {"valid", row.valid},
          {"reasons", row.reasons},
          {"notes", row.notes},
          {"noisy", row.noisy},
          {"latency_ns", latency_json(row.latency)},
          {"upper99", percentiles_json(row.latency.upper99_ns)},
          {"withheld", withheld_json(row.withheld)},
          {"intervals", intervals_json(row.intervals)},
          {"warmup", row.rounds.empty() ? Json(nullptr) : warmup_json(row.rounds.front().warmup)},
          {"cold_ns", row.cold_ns},
          {"load_to_first_result_ns", optional_json(row.load_to_first_result_ns)},
          {"stable", optional_json(row.stable)},
          {"cv", optional_json(row.cv)},
          {"third_drift", optional_json(row.third_drift)},
          {"harness_overhead_ns", row.harness_overhead_ns},
          {"harness_share", optional_json(row.harness_share)},
          {"histogram_relative_error", row.histogram_relative_error},
          {"rounds", list_json(row.rounds, round_json)},
          {"latency_histogram", histogram_json(row.latency_histogram)},
          {"latency_over_time", course_json(row.latency_over_time)},
          {"host", list_json<HostWatch>(row.host, to_json)}};
}

}  // namespace assay::loadgen
