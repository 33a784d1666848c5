#include "check/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/suggest.h"
#include "check/binary_statistics.h"
#include "check/elements.h"
#include "check/top_classes.h"

namespace assay::check {
namespace {

using Outcomes = std::span<const SampleOutcome>;

enum class Family { kClassScores, kBinary, kAnswers };

struct MetricRow {
  MetricDescription description;
  Family family;
  WeightedStatistic (*statistic)(Scores scores, Outcomes outcomes);
};

// The rank of a wrong class where the model gave a class and no scores: right for top1 only.
constexpr std::int32_t kUnranked = std::numeric_limits<std::int32_t>::max();

// Share of the weight that is on right samples, of `full`.
WeightedStatistic share_right(std::string_view metric, Scores scores, Outcomes outcomes,
                              double full = 1.0) {
  std::vector<std::uint8_t> right;
  right.reserve(outcomes.size());
  for (const SampleOutcome& outcome : outcomes) {
    right.push_back(is_correct(metric, scores, outcome) ? 1 : 0);
  }
  return [right = std::move(right),
          full](std::span<const std::uint32_t> weights) -> std::optional<double> {
    std::uint64_t sum = 0;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      sum += std::uint64_t{right[i]} * weights[i];
      total += weights[i];
    }
    if (total == 0) return std::nullopt;
    return full * static_cast<double>(sum) / static_cast<double>(total);
  };
}

WeightedStatistic top1(Scores scores, Outcomes outcomes) {
  return share_right("top1", scores, outcomes);
}
WeightedStatistic top5(Scores scores, Outcomes outcomes) {
  return share_right("top5", scores, outcomes);
}
WeightedStatistic binary_accuracy(Scores scores, Outcomes outcomes) {
  return share_right("binary_accuracy", scores, outcomes);
}

constexpr double kPerCent = 100.0;

WeightedStatistic exact_match(Scores scores, Outcomes outcomes) {
  return share_right("exact_match", scores, outcomes, kPerCent);
}

WeightedStatistic squad_f1(Scores /*scores*/, Outcomes outcomes) {
  std::vector<double> scores;
  scores.reserve(outcomes.size());
  for (const SampleOutcome& outcome : outcomes) scores.push_back(outcome.score);
  return [scores =
              std::move(scores)](std::span<const std::uint32_t> weights) -> std::optional<double> {
    double sum = 0.0;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      sum += scores[i] * weights[i];
      total += weights[i];
    }
    if (total == 0) return std::nullopt;
    return kPerCent * sum / static_cast<double>(total);
  };
}

// name, doc, key of the published report, higher is better, proportion of samples
constexpr MetricRow kMetrics[] = {
    {{"top1", "the true class has the largest score", "Top-1", true, true},
     Family::kClassScores,
     top1},
    {{"top5", "the true class is among the five largest scores", "Top-5", true, true},
     Family::kClassScores,
     top5},
    {{"binary_accuracy", "class 1 is predicted from probability 0.5 up", "Accuracy", true, true},
     Family::kBinary,
     binary_accuracy},
    {{"auc", "area under the ROC curve: Mann-Whitney, ties a half", "AUC", true, false},
     Family::kBinary,
     area_under_curve},
    {{"log_loss", "mean negative log-likelihood, probabilities clipped to [2^-52, 1 - 2^-52]",
      "Log Loss", false, false},
     Family::kBinary,
     mean_log_loss},
    {{"f1", "harmonic mean of precision and recall of class 1", "F1", true, false},
     Family::kBinary,
     f1_score},
    {{"precision", "share of predicted class 1 that is class 1", "Precision", true, false},
     Family::kBinary,
     precision},
    {{"recall", "share of class 1 that is predicted so", "Recall", true, false},
     Family::kBinary,
     recall},
    {{"exact_match", "per cent of questions whose normalised answer is one of the true ones",
      "Exact Match", true, true, kPerCent, true},
     Family::kAnswers,
     exact_match},
    {{"squad_f1", "words shared with the best true answer, mean over questions, per cent",
      "F1 Score", true, false, 1.0, true},
     Family::kAnswers,
     squad_f1},
};

const MetricRow* find_row(std::string_view name) {
  for (const MetricRow& row : kMetrics) {
    if (row.description.name == name) return &row;
  }
  return nullptr;
}

Status unknown_metric(std::string_view name) {
  std::vector<std::string> names;
  std::string list;
  for (const MetricRow& row : kMetrics) {
    names.emplace_back(row.description.name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", row.description.name);
  }
  return not_found(
      fmt::format("unknown metric \"{}\"{}; there are {}", name, did_you_mean(name, names), list));
}

Status refuse(std::uint64_t sample_id, const TensorView& output, std::string_view what) {
  return invalid_argument(
      fmt::format("sample {}, output {}: {}", sample_id, to_string(output.spec), what));
}

// A probability may leave [0,1] by this much through rounding, and is then taken as the bound.
constexpr double kProbabilitySlack = 1e-3;

}  // namespace

struct Metric::State {
  const MetricRow* row = nullptr;
  MetricOptions options;
  std::size_t elements = 0;  // of an output; 0 before the first
  bool class_ids = false;    // the output is a class, not scores
  std::vector<double> scores;
  std::uint64_t nan_samples = 0;
  std::vector<SampleOutcome> outcomes;

  Status load(std::uint64_t sample_id, const TensorView& output);
  Status check_form(std::uint64_t sample_id, const TensorView& output);
  Result<SampleOutcome> classify(std::uint64_t sample_id, const TensorView& output,
                                 std::int64_t label) const;
  Result<SampleOutcome> classify_binary(std::uint64_t sample_id, const TensorView& output,
                                        std::int64_t label) const;
  void write_interval(const WeightedStatistic& statistic, AccuracyResult& result) const;
  void write_extra(AccuracyResult& result) const;
};

Status Metric::State::check_form(std::uint64_t sample_id, const TensorView& output) {
  elements = output.bytes.size() / size_of(output.spec.dtype);
  class_ids = !is_floating(output.spec.dtype) && elements == 1;
  if (elements == 0) return refuse(sample_id, output, "no scores");
  if (row->family == Family::kBinary) {
    if (elements <= 2 && !class_ids) return ok_status();
    return refuse(sample_id, output,
                  fmt::format("{} takes one or two scores per sample", row->description.name));
  }
  if (class_ids && row->description.name != "top1") {
    return refuse(sample_id, output, "the output is a class, which only top1 can use");
  }
  if (elements > 1 || class_ids) return ok_status();
  return refuse(sample_id, output, "one score is no choice between classes");
}

Status Metric::State::load(std::uint64_t sample_id, const TensorView& output) {
  if (elements == 0) RETURN_IF_ERROR(check_form(sample_id, output));
  if (output.bytes.size() != elements * size_of(output.spec.dtype)) {
    return refuse(
        sample_id, output,
        fmt::format("{} bytes where {} elements are wanted", output.bytes.size(), elements));
  }
  scores.resize(elements);
  load_doubles(output.spec.dtype, output.bytes, scores.data());
  return ok_status();
}

Result<SampleOutcome> Metric::State::classify(std::uint64_t sample_id, const TensorView& output,
                                              std::int64_t label) const {
  const bool outside = label < 0 || label > std::numeric_limits<std::int32_t>::max() ||
                       (!class_ids && static_cast<std::size_t>(label) >= elements);
  if (outside) {
    return refuse(sample_id, output, fmt::format("label {} is outside the classes", label));
  }
  SampleOutcome outcome;
  outcome.sample_id = sample_id;
  outcome.label = static_cast<std::int32_t>(label);
  if (class_ids) {
    outcome.rank = scores[0] == static_cast<double>(label) ? 0 : kUnranked;
  } else {
    outcome.rank = static_cast<std::int32_t>(rank_of(scores, static_cast<std::size_t>(label)));
  }
  return outcome;
}

Result<SampleOutcome> Metric::State::classify_binary(std::uint64_t sample_id,
                                                     const TensorView& output,
                                                     std::int64_t label) const {
  if (label != 0 && label != 1) {
    return refuse(sample_id, output, fmt::format("label {} is neither 0 nor 1", label));
  }
  SampleOutcome outcome;
  outcome.sample_id = sample_id;
  outcome.label = static_cast<std::int32_t>(label);
  outcome.score = scores.back();
  if (options.scores == Scores::kLogits) {
    // Of two logits the softmax is the logistic function of their difference. Equal infinities
    // say nothing, and their NaN counts against the model.
    if (elements == 2) outcome.score = scores[1] - scores[0];
    return outcome;
  }
  if (outcome.score < -kProbabilitySlack || outcome.score > 1.0 + kProbabilitySlack) {
    return refuse(sample_id, output,
                  fmt::format("{} is no probability; are the scores logits?", outcome.score));
  }
  if (!std::isnan(outcome.score)) outcome.score = std::clamp(outcome.score, 0.0, 1.0);
  return outcome;
}

void Metric::State::write_interval(const WeightedStatistic& statistic,
                                   AccuracyResult& result) const {
  if (row->description.is_proportion) {
    const auto n = static_cast<double>(result.n);
    const double full = row->description.full;
    const Interval interval = wilson(std::round(result.value / full * n), n);
    result.interval_low = full * interval.low;
    result.interval_high = full * interval.high;
    result.interval_method = "Wilson";
    return;
  }
  const std::uint32_t resamples =
      affordable_resamples(outcomes.size(), options.bootstrap_resamples);
  const std::vector<double> values =
      bootstrap(outcomes.size(), resamples, options.bootstrap_seed, statistic);
  result.interval_low = values.empty() ? result.value : sorted_quantile(values, 0.025);
  result.interval_high = values.empty() ? result.value : sorted_quantile(values, 0.975);
  result.interval_method =
      fmt::format("bootstrap percentile, {} resamples, seed {}", resamples, options.bootstrap_seed);
}

void Metric::State::write_extra(AccuracyResult& result) const {
  const std::vector<std::uint32_t> once(outcomes.size(), 1);
  for (const MetricRow& other : kMetrics) {
    if (&other == row || other.family != row->family) continue;
    if (class_ids && other.description.name == "top5") continue;
    const std::optional<double> value = other.statistic(options.scores, outcomes)(once);
    if (value) result.extra[std::string(other.description.name)] = *value;
  }
  if (row->family == Family::kBinary) result.note = missing_denominators(options.scores, outcomes);
}

Metric::Metric(std::unique_ptr<State> state) : state_(std::move(state)) {}
Metric::Metric(Metric&&) noexcept = default;
Metric& Metric::operator=(Metric&&) noexcept = default;
Metric::~Metric() = default;

Status Metric::add(std::uint64_t sample_id, const TensorView& output, std::int64_t label) {
  State& state = *state_;
  if (state.row->family == Family::kAnswers) {
    return refuse(sample_id, output,
                  fmt::format("{} scores answers, not classes", state.row->description.name));
  }
  RETURN_IF_ERROR(state.load(sample_id, output));
  Result<SampleOutcome> outcome = state.row->family == Family::kBinary
                                      ? state.classify_binary(sample_id, output, label)
                                      : state.classify(sample_id, output, label);
  RETURN_IF_ERROR(outcome.status());
  const bool has_nan = std::any_of(state.scores.begin(), state.scores.end(),
                                   [](double score) { return std::isnan(score); });
  if (has_nan || std::isnan(outcome->score)) ++state.nan_samples;
  state.outcomes.push_back(*outcome);
  return ok_status();
}

Status Metric::add_answer(std::uint64_t question, const AnswerScore& score, bool has_nan) {
  State& state = *state_;
  if (state.row->family != Family::kAnswers) {
    return invalid_argument(fmt::format("question {}: {} scores classes, not answers", question,
                                        state.row->description.name));
  }
  if (has_nan) ++state.nan_samples;
  state.outcomes.push_back(
      {.sample_id = question, .score = score.f1, .rank = score.exact ? 0 : kUnranked});
  return ok_status();
}

std::uint64_t Metric::count() const { return state_->outcomes.size(); }

Result<AccuracyResult> Metric::finish() {
  State& state = *state_;
  const std::string_view name = state.row->description.name;
  if (state.outcomes.empty()) {
    return failed_precondition(fmt::format("no samples: {} is not defined", name));
  }
  const WeightedStatistic statistic = state.row->statistic(state.options.scores, state.outcomes);
  const std::vector<std::uint32_t> once(state.outcomes.size(), 1);
  const std::optional<double> value = statistic(once);
  if (!value) {
    return failed_precondition(
        fmt::format("{} is not defined: all {} samples have one label", name, once.size()));
  }
  AccuracyResult result;
  result.metric = name;
  result.value = *value;
  result.n = state.outcomes.size();
  result.nan_samples = state.nan_samples;
  result.scores = state.options.scores;
  state.write_interval(statistic, result);
  state.write_extra(result);
  result.outcomes = std::move(state.outcomes);
  return result;
}

Result<Metric> make_metric(std::string_view name, const MetricOptions& options) {
  const MetricRow* row = find_row(name);
  if (row == nullptr) return unknown_metric(name);
  auto state = std::make_unique<Metric::State>();
  state->row = row;
  state->options = options;
  state->outcomes.reserve(options.expected_samples);
  return Metric(std::move(state));
}

Result<WeightedStatistic> weighted_metric(std::string_view name, Scores scores, Outcomes outcomes) {
  const MetricRow* row = find_row(name);
  if (row == nullptr) return unknown_metric(name);
  return row->statistic(scores, outcomes);
}

std::vector<MetricDescription> metric_descriptions() {
  std::vector<MetricDescription> descriptions;
  for (const MetricRow& row : kMetrics) descriptions.push_back(row.description);
  return descriptions;
}

const MetricDescription* find_metric(std::string_view name) {
  const MetricRow* row = find_row(name);
  return row == nullptr ? nullptr : &row->description;
}

bool is_correct(std::string_view metric, Scores scores, const SampleOutcome& outcome) {
  if (metric == "top1" || metric == "exact_match") return outcome.rank == 0;
  if (metric == "top5") return outcome.rank < 5;
  return predicted_class(scores, outcome) == outcome.label;
}

Json to_json(const AccuracyResult& result) {
  Json json = {{"metric", result.metric},
               {"value", result.value},
               {"n", result.n},
               {"interval", {result.interval_low, result.interval_high}},
               {"interval_method", result.interval_method},
               {"extra", Json::object()},
               {"nan_samples", result.nan_samples},
               {"note", result.note}};
  for (const auto& [name, value] : result.extra) json["extra"][name] = value;
  return json;
}

}  // namespace assay::check
