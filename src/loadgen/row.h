#pragma once

// From the records of a row's rounds to the row that result.json holds (formats.md, `performance`).
// Pure: nothing here reads a clock or a file.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "loadgen/host_watch.h"
#include "loadgen/percentile.h"
#include "loadgen/record.h"
#include "loadgen/statistics.h"

namespace assay::loadgen {

// When the controller, with its own clock, saw the worker's window open and close.
struct ControllerWindow {
  std::int64_t opened_ns = 0;
  std::int64_t closed_ns = 0;
};

struct RoundInput {
  RecordView record;
  std::optional<ControllerWindow> controller;
  std::optional<HostWatch> host;
};

struct RowInput {
  std::uint32_t batch_size = 1;  // samples per query, as loaded
  std::uint32_t clients = 1;
  std::optional<std::uint32_t> backend_instances;  // none: any number of calls at a time
  std::string scenario = "ClosedLoop";
  std::vector<RoundInput> rounds;
  double harness_overhead_ns = 0;  // per query, HarnessOverhead::overhead_ns_p50; 0 = not measured
  std::uint64_t seed = 1;          // of the bootstrap
};

// A percentile that was not printed.
struct Withheld {
  std::string name;
  std::uint64_t needed = 0;  // independent samples
  std::uint64_t have = 0;    // effective samples
  std::string reason;
};

// One value per entry of kPercentiles; absent when withheld.
using PercentileValues = std::array<std::optional<std::int64_t>, kPercentiles.size()>;

struct LatencySummary {
  std::optional<double> mean_ns;
  std::optional<std::int64_t> min_ns, max_ns;
  PercentileValues percentiles_ns;
  PercentileValues upper99_ns;
};

struct RowIntervals {  // 95 %, block bootstrap over rounds
  std::optional<Interval> qps, mean_ns;
  std::array<std::optional<Interval>, kPercentiles.size()> percentiles_ns;
};

struct RoundSummary {
  double qps = 0;
  std::uint64_t samples = 0;
  std::uint64_t completed_in_window = 0;
  std::int64_t window_ns = 0;
  std::optional<double> mean_ns;
  std::optional<Thirds> thirds;
  Autocorrelation autocorrelation;
  LittleCheck little;
  WarmupRecord warmup;
  EndReason end_reason = EndReason::kNone;
};

struct HistogramBin {
  std::int64_t low_ns = 0;
  std::int64_t high_ns = 0;  // exclusive
  std::uint64_t count = 0;
};

struct TimePoint {  // calls that ended in one slice of a round
  std::uint32_t round = 0;
  std::int64_t at_ns = 0;  // middle of the slice, from the window's start
  std::uint64_t count = 0;
  double mean_ns = 0;
  std::int64_t max_ns = 0;
};

inline constexpr std::size_t kMaxHistogramBins = 256;
inline constexpr std::size_t kTimePointsPerRound = 120;

struct PerformanceRow {
  std::uint32_t batch_size = 1;
  std::uint32_t clients = 1;
  std::optional<std::uint32_t> backend_instances;
  std::string scenario;
  // Samples completed in the windows / their length, successes only. None when nothing succeeded or
  // the row is void: something shows that the figure would mislead.
  std::optional<double> qps;
  std::optional<double> in_flight;  // mean of the looks at the boundary
  std::uint64_t samples = 0;        // latencies, one per query that succeeded
  std::uint64_t effective_samples = 0;
  std::uint64_t failures = 0;
  bool valid = true;
  std::vector<std::string> reasons;  // why not valid
  std::vector<std::string> notes;    // what a reader must know about a valid row
  bool noisy = false;                // the host was disturbed: not comparable
  LatencySummary latency;
  std::vector<Withheld> withheld;
  RowIntervals intervals;
  std::int64_t cold_ns = 0;  // first round: first call, entry to return
  std::optional<std::int64_t> load_to_first_result_ns;
  std::optional<bool> stable;         // none when there was one round only
  std::optional<double> cv;           // of the rounds' rates
  std::optional<double> third_drift;  // over all rounds
  double harness_overhead_ns = 0;
  std::optional<double> harness_share;  // of a client's time per query
  double histogram_relative_error = 0;  // 0: every sample was kept exactly
  std::vector<RoundSummary> rounds;
  std::vector<HistogramBin> latency_histogram;
  std::vector<TimePoint> latency_over_time;
  std::vector<HostWatch> host;  // per round, where watched
};

// kInvalidArgument when there is no round or a record's clients differ from the input's. A row of
// failed, interrupted or implausible rounds is a row with valid = false and reasons, not an error.
Result<PerformanceRow> summarize(const RowInput& input);

// Voids a row, also after the fact, e.g. for outputs that drifted or a cache in the path: it is not
// valid, says why, and has no rate.
void void_row(PerformanceRow& row, std::string reason);

// Queries that one more round should have so that the p99 is printed: the missing independent
// samples at the row's share of independent ones, and a tenth more. 0 when it is printed.
std::uint64_t queries_missing_for_p99(const PerformanceRow& row);

// The same row measured with repeated input. Repeated is "faster" when its rate is more than 10 %
// above and the rates' intervals do not overlap: then something in the path remembers inputs. With
// a handful of calls nothing is suspected.
struct RepeatCheck {
  double rate_ratio = 1;  // repeated / unique
  bool cache_suspected = false;
};
std::optional<RepeatCheck> compare_repeated(const PerformanceRow& unique,
                                            const PerformanceRow& repeated);

// An element of `performance`.
Json to_json(const PerformanceRow& row);

}  // namespace assay::loadgen
