#include "loadgen/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "loadgen/bootstrap.h"
#include "loadgen/round.h"

namespace assay::loadgen {
namespace {

constexpr double kStableCv = 0.03;
constexpr double kStableDrift = 0.05;
constexpr double kRepeatedFaster = 1.10;
// The controller learns of the window's ends by message: so much later, or 2 % of the window.
constexpr std::int64_t kControllerSlackNs = 50'000'000;
constexpr double kControllerShare = 0.02;
// The loop's own time per query when nobody measured it, and how often that measurement may be
// exceeded before Little's law is held against the row.
constexpr double kAssumedOverheadNs = 250;
constexpr double kOverheadMargin = 2;
// Below so many completions of each client the ends of the window outweigh what Little's law, or a
// rate held against another, says.
constexpr std::uint64_t kLeastPerClient = 16;

struct Prepared {
  const RoundInput* input = nullptr;
  std::vector<Sample> by_end;
};

Status check_input(const RowInput& input) {
  if (input.rounds.empty()) return invalid_argument("performance row: no round");
  if (input.batch_size == 0) return invalid_argument("performance row: batch size 0");
  for (const RoundInput& round : input.rounds) {
    if (round.record.clients.size() != input.clients) {
      return invalid_argument(fmt::format("performance row: {} clients, a record has {}",
                                          input.clients, round.record.clients.size()));
    }
  }
  return ok_status();
}

std::string round_name(std::size_t index, std::size_t rounds) {
  return rounds == 1 ? std::string() : fmt::format("round {}: ", index + 1);
}

void invalidate(PerformanceRow& row, std::string reason) {
  row.valid = false;
  row.reasons.push_back(std::move(reason));
}

// Failures of the window and of the calls before it.
void judge_failures(const RecordView& record, const std::string& name, PerformanceRow& row) {
  std::uint64_t failures = 0;
  std::uint64_t calls = 0;
  const FailureRecord* first = nullptr;
  for (const ClientRecord& client : record.clients) {
    failures += client.failures;
    calls += client.failures + client.successes;
    if (client.first_failure && (first == nullptr || client.first_failure->query < first->query)) {
      first = &*client.first_failure;
    }
  }
  row.failures += failures + record.warmup.failures;
  const std::string why =
      first == nullptr
          ? std::string()
          : fmt::format("; the first: {}", Status(first->code, first->text).to_string());
  if (failures > 0) {
    invalidate(row, fmt::format("{}{} of {} queries failed{}", name, failures, calls, why));
  }
  if (record.warmup.failures > 0) {
    invalidate(row, fmt::format("{}{} calls failed before the window{}", name,
                                record.warmup.failures, why));
  }
}

void judge_end(const RecordView& record, const RoundSummary& round, const std::string& name,
               PerformanceRow& row) {
  if (record.window_start_ns == 0) {
    invalidate(row, name + "the window never opened");
  } else if (record.window_end_ns == 0) {
    invalidate(row, fmt::format("{}the worker ended inside the window, after {} queries", name,
                                round.samples));
  } else if (record.end_reason == EndReason::kStopped) {
    invalidate(row, fmt::format("{}interrupted after {} of {} queries", name, round.samples,
                                record.load.planned_calls));
  } else if (record.end_reason == EndReason::kMaxDuration &&
             round.samples < record.load.planned_calls) {
    row.notes.push_back(
        fmt::format("{}the longest duration of {:.3g} s was over after {} of {} queries", name,
                    static_cast<double>(record.load.max_duration_ns) / 1e9, round.samples,
                    record.load.planned_calls));
  }
  if (record.window_end_ns != 0 && !record.warmup.steady) {
    row.notes.push_back(
        fmt::format("{}warm-up ended at its cap of {:.3g} s without becoming steady", name,
                    static_cast<double>(record.warmup.duration_ns) / 1e9));
  }
}

void judge_clock(const RecordView& record, const std::string& name, PerformanceRow& row) {
  std::uint64_t negative = 0;
  for (const ClientRecord& client : record.clients) negative += client.negative_latencies;
  if (negative > 0) {
    void_row(row, fmt::format("{}{} queries ended before they started", name, negative));
  }
}

void judge_little(const RoundSummary& round, const std::string& name, PerformanceRow& row) {
  const LittleCheck& little = round.little;
  if (round.window_ns <= 0) return;
  if (round.completed_in_window < kLeastPerClient * row.clients) {
    row.notes.push_back(
        fmt::format("{}too few calls to check Little's law: {} completed, {} per client are needed",
                    name, round.completed_in_window, kLeastPerClient));
    return;
  }
  if (!little.boundary_agrees) {
    void_row(row,
             fmt::format("{}rate times mean latency is {:.3f} in flight, the boundary saw {:.3f} "
                         "(tolerance {:.3f})",
                         name, little.rate_times_latency, little.in_flight, little.tolerance));
  }
  if (!little.clients_agree) {
    void_row(row,
             fmt::format("{}rate times mean latency is {:.3f} in flight with {} clients "
                         "(tolerance {:.3f})",
                         name, little.rate_times_latency, row.clients, little.clients_tolerance));
  }
}

void judge_controller(const RoundInput& input, const std::string& name, PerformanceRow& row) {
  if (!input.controller || input.record.window_end_ns == 0) return;
  if (input.controller->opened_ns == 0 || input.controller->closed_ns == 0) {
    void_row(row, name + "the worker did not tell when its window opened and closed");
    return;
  }
  const auto share =
      static_cast<std::int64_t>(kControllerShare * static_cast<double>(input.record.window_ns()));
  const std::int64_t slack_ns = std::max(kControllerSlackNs, share);
  const std::int64_t open_late = input.controller->opened_ns - input.record.window_start_ns;
  const std::int64_t close_late = input.controller->closed_ns - input.record.window_end_ns;
  if (std::abs(open_late) <= slack_ns && std::abs(close_late) <= slack_ns) return;
  std::string finding = fmt::format(
      "{}worker and controller disagree on the window: opened {:.1f} ms and "
      "closed {:.1f} ms apart, {:.1f} ms are accepted",
      name, static_cast<double>(open_late) / 1e6, static_cast<double>(close_late) / 1e6,
      static_cast<double>(slack_ns) / 1e6);
  // A message that a busy host delivers late says nothing about the worker's clock.
  if (input.host && input.host->noisy()) {
    row.noisy = true;
    row.notes.push_back(std::move(finding) + ": not judged, since the host was disturbed");
    return;
  }
  void_row(row, std::move(finding));
}

void judge_host(const RoundInput& input, const std::string& name, PerformanceRow& row) {
  if (!input.host) return;
  row.host.push_back(*input.host);
  if (!input.host->noisy()) return;
  row.noisy = true;
  for (const std::string& noise : input.host->noise) {
    row.notes.push_back(fmt::format("{}noisy host: {}", name, noise));
  }
}

void judge_round(const RoundInput& input, const RoundSummary& round, const std::string& name,
                 PerformanceRow& row) {
  judge_failures(input.record, name, row);
  judge_end(input.record, round, name, row);
  judge_clock(input.record, name, row);
  // With failures, time goes into calls that are no samples, and the law does not hold.
  if (row.failures == 0) judge_little(round, name, row);
  judge_controller(input, name, row);
  judge_host(input, name, row);
}

// The rank of the 99 % bound. Where values depend on each other there are fewer than counted, and
// the share of the budget is the one that so few samples have.
std::optional<std::uint64_t> bound_rank(Fraction p, std::uint64_t n, std::uint64_t effective) {
  const std::optional<std::uint64_t> budget = bound_budget(p, effective);
  if (!budget) return std::nullopt;
  const double share = static_cast<double>(*budget) / static_cast<double>(effective);
  const auto left_out =
      effective == n ? *budget : static_cast<std::uint64_t>(share * static_cast<double>(n));
  return n - left_out;
}

std::string why_withheld(const PerformanceRow& row, std::uint64_t needed) {
  std::string why =
      fmt::format("needs {} independent samples, has {}", needed, row.effective_samples);
  if (row.effective_samples < row.samples) {
    why += fmt::format(" ({} that depend on each other)", row.samples);
  }
  const bool out_of_time = std::ranges::any_of(row.rounds, [](const RoundSummary& round) {
    return round.end_reason == EndReason::kMaxDuration;
  });
  if (out_of_time) why += "; the longest duration was over first";
  return why;
}

void fill_percentiles(const Distribution& all, PerformanceRow& row) {
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    const NamedPercentile& p = kPercentiles[i];
    const std::uint64_t needed = sample_floor(p.fraction);
    if (row.effective_samples < needed) {
      row.withheld.push_back(
          {std::string(p.name), needed, row.effective_samples, why_withheld(row, needed)});
      continue;
    }
    row.latency.percentiles_ns[i] = all.percentile(p.fraction);
    if (const auto rank = bound_rank(p.fraction, all.count(), row.effective_samples)) {
      row.latency.upper99_ns[i] = all.at_rank(*rank);
    }
  }
}

void fill_latency(const Distribution& all, PerformanceRow& row) {
  if (all.count() > 0) {
    double sum_ns = 0;
    for (const RoundSummary& round : row.rounds) {
      sum_ns += round.mean_ns.value_or(0) * static_cast<double>(round.samples);
    }
    row.latency.mean_ns = sum_ns / static_cast<double>(row.samples);
    row.latency.min_ns = all.at_rank(1);
    row.latency.max_ns = all.at_rank(all.count());
  }
  fill_percentiles(all, row);
}

void fill_rate(PerformanceRow& row) {
  double completed = 0;
  double window_ns = 0;
  double inside = 0;
  double looked = 0;
  for (const RoundSummary& round : row.rounds) {
    if (round.window_ns <= 0) continue;
    completed += static_cast<double>(round.completed_in_window);
    window_ns += static_cast<double>(round.window_ns);
    inside += round.little.in_flight * static_cast<double>(round.window_ns);
    looked += static_cast<double>(round.window_ns);
  }
  if (looked > 0) row.in_flight = inside / looked;
  if (completed == 0 || window_ns == 0) return;
  row.qps = completed * row.batch_size * 1e9 / window_ns;
  if (row.harness_overhead_ns > 0) {
    row.harness_share = row.harness_overhead_ns * completed / (window_ns * row.clients);
  }
}

void fill_intervals(std::span<const Prepared> rounds, std::uint64_t seed, PerformanceRow& row) {
  std::vector<BootstrapRound> series;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    BootstrapRound round{.latencies_ns = {}, .rate = row.rounds[i].qps};
    for (const Sample& sample : rounds[i].by_end) round.latencies_ns.push_back(latency_ns(sample));
    series.push_back(std::move(round));
  }
  std::vector<Fraction> fractions;
  for (const NamedPercentile& p : kPercentiles) fractions.push_back(p.fraction);
  const auto result = block_bootstrap(series, fractions, {.seed = seed});
  if (!result) return;
  if (row.qps) row.intervals.qps = result->rate;
  row.intervals.mean_ns = result->mean_ns;
  for (std::size_t i = 0; i < kPercentiles.size(); ++i) {
    if (row.latency.percentiles_ns[i]) row.intervals.percentiles_ns[i] = result->percentiles_ns[i];
  }
}

void fill_stability(PerformanceRow& row) {
  std::vector<double> rates;
  Thirds sums;
  for (const RoundSummary& round : row.rounds) {
    rates.push_back(round.qps);
    sums.first += round.thirds ? round.thirds->first : 0;
    sums.last += round.thirds ? round.thirds->last : 0;
  }
  row.cv = coefficient_of_variation(rates);
  row.third_drift = sums.drift();
  if (row.cv && row.third_drift) {
    row.stable = *row.cv <= kStableCv && std::abs(*row.third_drift) <= kStableDrift;
  }
}

template <unsigned kBits>
std::vector<HistogramBin> bins_of(const Distribution& all) {
  using Buckets = LogLinear<kBits>;
  std::vector<HistogramBin> bins;
  for (const Distribution::Group& group : all.groups()) {
    const std::size_t bucket = Buckets::bucket(group.value);
    const std::int64_t low_ns = Buckets::lower_ns(bucket);
    if (bins.empty() || bins.back().low_ns != low_ns) {
      bins.push_back({low_ns, Buckets::upper_ns(bucket), 0});
    }
    bins.back().count += group.count;
  }
  return bins;
}

// The finest of three grids that stays within kMaxHistogramBins; empty bins are left out.
std::vector<HistogramBin> draw_histogram(const Distribution& all) {
  std::vector<HistogramBin> bins = bins_of<7>(all);
  if (bins.size() > kMaxHistogramBins) bins = bins_of<4>(all);
  if (bins.size() > kMaxHistogramBins) bins = bins_of<2>(all);
  return bins;
}

void fill_plots(std::span<const Prepared> rounds, const Distribution& all, PerformanceRow& row) {
  row.latency_histogram = draw_histogram(all);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const auto points =
        course_of(rounds[i].input->record, rounds[i].by_end, static_cast<std::uint32_t>(i));
    row.latency_over_time.insert(row.latency_over_time.end(), points.begin(), points.end());
  }
}

PerformanceRow described(const RowInput& input) {
  PerformanceRow row;
  row.batch_size = input.batch_size;
  row.clients = input.clients;
  row.backend_instances = input.backend_instances;
  row.scenario = input.scenario;
  row.harness_overhead_ns = input.harness_overhead_ns;
  const WarmupRecord& first = input.rounds.front().record.warmup;
  row.cold_ns = first.cold_call_ns;
  if (first.load_to_first_result_ns > 0)
    row.load_to_first_result_ns = first.load_to_first_result_ns;
  if (input.backend_instances && input.clients > *input.backend_instances) {
    row.notes.push_back(fmt::format(
        "{} clients share {} backend {}: the wait for one is part of the latency", input.clients,
        *input.backend_instances, *input.backend_instances == 1 ? "instance" : "instances"));
  }
  return row;
}

void note_histogram(const Distribution& all, std::span<const Prepared> rounds,
                    PerformanceRow& row) {
  std::uint64_t exact = 0;
  for (const Prepared& round : rounds) exact += round.by_end.size();
  if (exact == all.count()) return;
  row.histogram_relative_error = RecordBuckets::kRelativeError;
  row.notes.push_back(
      fmt::format("{} of {} latencies were kept exactly, the others to {:.2g} of their value; the "
                  "intervals come from the exact ones",
                  exact, all.count(), RecordBuckets::kRelativeError));
}

}  // namespace

Result<PerformanceRow> summarize(const RowInput& input) {
  RETURN_IF_ERROR(check_input(input));
  PerformanceRow row = described(input);
  const double loop_overhead_ns =
      kOverheadMargin *
      (input.harness_overhead_ns > 0 ? input.harness_overhead_ns : kAssumedOverheadNs);
  std::vector<Prepared> rounds;
  Distribution all;
  for (const RoundInput& round : input.rounds) {
    rounds.push_back({&round, samples_by_end(round.record)});
    const std::vector<Sample>& by_end = rounds.back().by_end;
    add_latencies(round.record, by_end, all);
    row.rounds.push_back(summarize_round(round.record, by_end, input.batch_size, loop_overhead_ns));
    row.samples += row.rounds.back().samples;
    row.effective_samples += row.rounds.back().autocorrelation.effective_n;
  }
  all.finish();
  fill_rate(row);
  fill_latency(all, row);
  fill_intervals(rounds, input.seed, row);
  fill_stability(row);
  fill_plots(rounds, all, row);
  note_histogram(all, rounds, row);
  for (std::size_t i = 0; i < input.rounds.size(); ++i) {
    judge_round(input.rounds[i], row.rounds[i], round_name(i, input.rounds.size()), row);
  }
  if (row.samples == 0) invalidate(row, "no query succeeded");
  return row;
}

void void_row(PerformanceRow& row, std::string reason) {
  invalidate(row, std::move(reason));
  row.qps.reset();
  row.intervals.qps.reset();
}

std::uint64_t queries_missing_for_p99(const PerformanceRow& row) {
  for (const Withheld& withheld : row.withheld) {
    if (withheld.name != "p99") continue;
    const auto missing = static_cast<double>(withheld.needed - withheld.have);
    const double per_independent =
        row.effective_samples == 0
            ? 1.0
            : static_cast<double>(row.samples) / static_cast<double>(row.effective_samples);
    return static_cast<std::uint64_t>(std::ceil(missing * per_independent * 1.1));
  }
  return 0;
}

std::optional<RepeatCheck> compare_repeated(const PerformanceRow& unique,
                                            const PerformanceRow& repeated) {
  if (!unique.qps || !repeated.qps) return std::nullopt;
  RepeatCheck check{.rate_ratio = *repeated.qps / *unique.qps, .cache_suspected = false};
  const bool apart = unique.intervals.qps && repeated.intervals.qps &&
                     repeated.intervals.qps->low > unique.intervals.qps->high;
  const std::uint64_t least = kLeastPerClient * unique.clients;
  const bool enough = unique.samples >= least && repeated.samples >= least;
  check.cache_suspected = check.rate_ratio > kRepeatedFaster && apart && enough;
  return check;
}

}  // namespace assay::loadgen
