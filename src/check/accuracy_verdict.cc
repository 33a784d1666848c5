#include "check/accuracy_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "check/statistics.h"

namespace assay::check {
namespace {

using Outcomes = std::vector<SampleOutcome>;

// Two results over the same samples, brought into one order.
struct Pair {
  Outcomes tested;
  Outcomes reference;
};

Outcomes sorted_by_id(const Outcomes& outcomes) {
  Outcomes sorted = outcomes;
  std::sort(sorted.begin(), sorted.end(), [](const SampleOutcome& a, const SampleOutcome& b) {
    return a.sample_id < b.sample_id;
  });
  return sorted;
}

Result<Pair> pair_up(const AccuracyResult& tested, const AccuracyResult& reference) {
  if (tested.metric != reference.metric) {
    return failed_precondition(fmt::format("metric {} cannot be held against the reference's {}",
                                           tested.metric, reference.metric));
  }
  Pair pair{sorted_by_id(tested.outcomes), sorted_by_id(reference.outcomes)};
  const auto same_sample = [](const SampleOutcome& a, const SampleOutcome& b) {
    return a.sample_id == b.sample_id && a.label == b.label;
  };
  if (!std::equal(pair.tested.begin(), pair.tested.end(), pair.reference.begin(),
                  pair.reference.end(), same_sample)) {
    return failed_precondition(fmt::format("not the same samples: {} here, {} with the reference",
                                           pair.tested.size(), pair.reference.size()));
  }
  const auto same_id = [](const SampleOutcome& a, const SampleOutcome& b) {
    return a.sample_id == b.sample_id;
  };
  const auto twice = std::adjacent_find(pair.tested.begin(), pair.tested.end(), same_id);
  if (twice == pair.tested.end()) return pair;
  return failed_precondition(fmt::format("sample {} was counted twice", twice->sample_id));
}

// n * (critical / |z|)^2: where a statistic that grows with the root of n would reach the critical
// value. None when it would take more than 10^12.
std::optional<std::uint64_t> samples_for(double n, double z) {
  const double needed = std::ceil(n * (kZ95OneSided / z) * (kZ95OneSided / z));
  if (!(needed < 1e12)) return std::nullopt;
  return static_cast<std::uint64_t>(needed);
}

std::string how_many(const std::optional<std::uint64_t>& samples) {
  if (!samples) return "more samples like these would not decide it";
  return fmt::format("it would take about {} samples at these rates", *samples);
}

Verdict verdict_of(double low, double high, double floor) {
  if (low >= floor) return Verdict::kPass;
  return high < floor ? Verdict::kFail : Verdict::kInconclusive;
}

// Fewest samples of which a share 1 - floor would have shown at least once with 95 % probability.
std::uint64_t unseen_share_samples(double floor) {
  const double share = std::clamp(floor, 0.5, 0.999);
  return static_cast<std::uint64_t>(std::ceil(std::log(0.05) / std::log(share)));
}

// What an estimate is held to.
struct Target {
  double limit = 0.0;
  bool at_most = false;      // else at least
  std::uint64_t fewest = 0;  // samples, to pass
};

Verdict verdict_of(const Interval& bounds, const Target& target) {
  return target.at_most ? verdict_of(-bounds.high, -bounds.low, -target.limit)
                        : verdict_of(bounds.low, bounds.high, target.limit);
}

// Fills verdict, bounds, samples_needed and reason from a bootstrap of the estimate.
void decide_by_bootstrap(const std::vector<double>& sorted, const Target& target,
                         CriterionResult& result) {
  if (sorted.empty()) {
    result.verdict = Verdict::kInconclusive;
    result.reason = "the estimate is not defined on resamples of these samples";
    return;
  }
  const Interval bounds{sorted_quantile(sorted, 0.05), sorted_quantile(sorted, 0.95)};
  result.low = bounds.low;
  result.high = bounds.high;
  result.verdict = verdict_of(bounds, target);
  if (result.verdict == Verdict::kPass && result.n < target.fewest) {
    result.verdict = Verdict::kInconclusive;
    result.samples_needed = target.fewest;
  } else if (result.verdict == Verdict::kInconclusive) {
    // The interval's half-width stands for kZ95OneSided standard errors.
    const double half = 0.5 * (bounds.high - bounds.low);
    const double z = kZ95OneSided * (*result.estimate - target.limit) / half;
    result.samples_needed = samples_for(static_cast<double>(result.n), z);
    if (result.samples_needed) {
      result.samples_needed = std::max(*result.samples_needed, target.fewest);
    }
  }
  result.reason =
      fmt::format("estimate {:.6g}, one-sided 95 % bounds {:.6g} and {:.6g}, limit {:.6g}",
                  *result.estimate, bounds.low, bounds.high, target.limit);
  if (result.verdict == Verdict::kInconclusive) {
    result.reason += "; " + how_many(result.samples_needed);
  }
}

PairedCounts count_pairs(const Pair& pair, std::string_view metric, Scores tested_scores,
                         Scores reference_scores) {
  PairedCounts counts;
  for (std::size_t i = 0; i < pair.tested.size(); ++i) {
    const bool tested = is_correct(metric, tested_scores, pair.tested[i]);
    const bool reference = is_correct(metric, reference_scores, pair.reference[i]);
    if (tested) {
      ++(reference ? counts.both : counts.only_tested);
    } else {
      ++(reference ? counts.only_reference : counts.neither);
    }
  }
  return counts;
}

void judge_paired_proportion(const PairedCounts& counts, double floor, CriterionResult& result) {
  result.method =
      "score test for the ratio of paired proportions (Nam and Blackwelder), one-sided 95 %";
  const std::uint64_t tested = counts.both + counts.only_tested;
  const std::uint64_t reference = counts.both + counts.only_reference;
  const std::optional<double> z = paired_ratio_score(counts, floor);
  const std::string figures =
      fmt::format("{} right of {}, the reference {} ({} only here, {} only there)", tested,
                  counts.n(), reference, counts.only_tested, counts.only_reference);
  if (!z || reference == 0) {
    result.verdict = Verdict::kInconclusive;
    result.reason = figures + "; a reference that is never right is no measure";
    return;
  }
  const Interval interval = paired_ratio_interval(counts);
  result.estimate = static_cast<double>(tested) / static_cast<double>(reference);
  result.low = interval.low;
  result.high = interval.high;
  result.verdict = *z >= kZ95OneSided    ? Verdict::kPass
                   : *z <= -kZ95OneSided ? Verdict::kFail
                                         : Verdict::kInconclusive;
  result.reason = fmt::format("{}; z = {:.3g}", figures, *z);
  if (result.verdict != Verdict::kInconclusive) return;
  result.samples_needed = samples_for(static_cast<double>(counts.n()), *z);
  result.reason += "; " + how_many(result.samples_needed);
}

// Tested by reference where higher is better, reference by tested where lower is; so that a larger
// ratio is better. Two zeros are equal.
std::optional<double> goodness_ratio(double tested, double reference, bool higher_is_better) {
  if (tested == reference) return 1.0;
  const double above = higher_is_better ? tested : reference;
  const double below = higher_is_better ? reference : tested;
  if (below == 0.0) return std::nullopt;
  return above / below;
}

Status judge_paired_bootstrap(const Pair& pair, const AccuracyResult& tested,
                              const AccuracyResult& reference, const AccuracyCriteria& criteria,
                              CriterionResult& result) {
  ASSIGN_OR_RETURN(const WeightedStatistic tested_value,
                   weighted_metric(tested.metric, tested.scores, pair.tested));
  ASSIGN_OR_RETURN(const WeightedStatistic reference_value,
                   weighted_metric(reference.metric, reference.scores, pair.reference));
  const bool higher = find_metric(tested.metric)->higher_is_better;
  const std::uint32_t resamples =
      affordable_resamples(pair.tested.size(), criteria.bootstrap_resamples);
  result.method =
      fmt::format("paired bootstrap of the ratio, {} resamples, seed {}, one-sided 95 %", resamples,
                  criteria.bootstrap_seed);
  result.estimate = goodness_ratio(tested.value, reference.value, higher);
  if (!result.estimate) {
    result.verdict = Verdict::kInconclusive;
    result.reason = fmt::format("value {:.6g}, the reference's {:.6g}: no ratio", tested.value,
                                reference.value);
    return ok_status();
  }
  const WeightedStatistic ratio = [&](std::span<const std::uint32_t> weights) {
    const std::optional<double> a = tested_value(weights);
    const std::optional<double> b = reference_value(weights);
    return a && b ? goodness_ratio(*a, *b, higher) : std::nullopt;
  };
  const double floor = *criteria.relative_floor;
  decide_by_bootstrap(bootstrap(pair.tested.size(), resamples, criteria.bootstrap_seed, ratio),
                      Target{.limit = floor, .fewest = unseen_share_samples(floor)}, result);
  return ok_status();
}

Result<CriterionResult> judge_relative(const AccuracyResult& tested,
                                       const AccuracyResult* reference, bool outputs_identical,
                                       const AccuracyCriteria& criteria) {
  const double floor = *criteria.relative_floor;
  const MetricDescription& metric = *find_metric(tested.metric);
  CriterionResult result;
  result.n = tested.n;
  result.criterion =
      metric.higher_is_better
          ? fmt::format("{} at least {:.6g} % of the reference's on the same samples",
                        tested.metric, 100.0 * floor)
          : fmt::format("{} at most the reference's / {:.6g} on the same samples", tested.metric,
                        floor);
  if (reference == nullptr) {
    result.reason = "there is no reference";
    return result;
  }
  ASSIGN_OR_RETURN(const Pair pair, pair_up(tested, *reference));
  if (outputs_identical) {
    result.verdict = Verdict::kPass;
    result.method = "outputs compared bit by bit";
    result.estimate = 1.0;
    result.reason = "every output equals the reference's bit by bit";
    return result;
  }
  if (metric.is_proportion) {
    judge_paired_proportion(count_pairs(pair, tested.metric, tested.scores, reference->scores),
                            floor, result);
    return result;
  }
  RETURN_IF_ERROR(judge_paired_bootstrap(pair, tested, *reference, criteria, result));
  return result;
}

// `full` is the value when every sample is right.
void judge_proportion_floor(const AccuracyResult& tested, double floor, double full,
                            CriterionResult& result) {
  const auto n = static_cast<double>(tested.n);
  const Interval share = wilson(std::round(tested.value / full * n), n, kZ95OneSided);
  const Interval interval{full * share.low, full * share.high};
  result.method = "Wilson's interval, one-sided 95 %";
  result.low = interval.low;
  result.high = interval.high;
  result.verdict = verdict_of(interval.low, interval.high, floor);
  // "No sample may be wrong" is a statement about these samples, and they decide it.
  if (floor >= full && tested.value >= floor) result.verdict = Verdict::kPass;
  result.reason = fmt::format("{:.6g} of {} samples, bounds {:.6g} and {:.6g}, floor {:.6g}",
                              tested.value, tested.n, interval.low, interval.high, floor);
  if (result.verdict != Verdict::kInconclusive) return;
  const double deviation = std::sqrt(floor * (full - floor) / n);
  result.samples_needed = samples_for(n, (tested.value - floor) / deviation);
  result.reason += "; " + how_many(result.samples_needed);
}

Result<CriterionResult> judge_absolute(const AccuracyResult& tested,
                                       const AccuracyCriteria& criteria) {
  const double floor = *criteria.absolute_floor;
  const MetricDescription& metric = *find_metric(tested.metric);
  CriterionResult result;
  result.n = tested.n;
  result.estimate = tested.value;
  result.criterion = fmt::format("{} at {} {:.6g}", tested.metric,
                                 metric.higher_is_better ? "least" : "most", floor);
  if (metric.is_proportion) {
    judge_proportion_floor(tested, floor, metric.full, result);
    return result;
  }
  ASSIGN_OR_RETURN(const WeightedStatistic value,
                   weighted_metric(tested.metric, tested.scores, tested.outcomes));
  const std::uint32_t resamples =
      affordable_resamples(tested.outcomes.size(), criteria.bootstrap_resamples);
  result.method = fmt::format("bootstrap, {} resamples, seed {}, one-sided 95 %", resamples,
                              criteria.bootstrap_seed);
  const double share = metric.higher_is_better ? floor : 0.99;
  decide_by_bootstrap(bootstrap(tested.outcomes.size(), resamples, criteria.bootstrap_seed, value),
                      Target{floor, !metric.higher_is_better, unseen_share_samples(share)}, result);
  return result;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Result<AccuracyVerdict> judge_accuracy(const AccuracyResult& tested,
                                       const AccuracyResult* reference, bool outputs_identical,
                                       const AccuracyCriteria& criteria) {
  if (find_metric(tested.metric) == nullptr || tested.outcomes.empty()) {
    return failed_precondition(fmt::format("no samples of metric \"{}\"", tested.metric));
  }
  AccuracyVerdict verdict;
  if (criteria.relative_floor) {
    ASSIGN_OR_RETURN(CriterionResult result,
                     judge_relative(tested, reference, outputs_identical, criteria));
    verdict.criteria.push_back(std::move(result));
  }
  if (criteria.absolute_floor) {
    ASSIGN_OR_RETURN(CriterionResult result, judge_absolute(tested, criteria));
    verdict.criteria.push_back(std::move(result));
  }
  for (const CriterionResult& result : verdict.criteria) {
    verdict.verdict = combine(verdict.verdict, result.verdict);
  }
  return verdict;
}

Json to_json(const AccuracyVerdict& verdict) {
  Json json = {{"verdict", name_of(verdict.verdict)}, {"criteria", Json::array()}};
  for (const CriterionResult& result : verdict.criteria) {
    json["criteria"].push_back({{"criterion", result.criterion},
                                {"method", result.method},
                                {"verdict", name_of(result.verdict)},
                                {"reason", result.reason},
                                {"n", result.n},
                                {"estimate", or_null(result.estimate)},
                                {"low", or_null(result.low)},
                                {"high", or_null(result.high)},
                                {"samples_needed", or_null(result.samples_needed)}});
  }
  return json;
}

}  // namespace assay::check
