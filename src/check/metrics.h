#pragma once

// Accuracy metrics. Each is a row of one table: how a sample becomes an outcome, and what number
// outcomes make. Everything else (intervals, pairing with a reference, extra metrics) follows.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "check/answer_text.h"
#include "check/statistics.h"
#include "tensor/tensor.h"

namespace assay::check {

// What an output holds, where a metric has to know.
enum class Scores { kProbabilities, kLogits };

struct MetricOptions {
  // binary metrics: one element is the score of class 1, two are those of class 0 and 1.
  Scores scores = Scores::kLogits;
  std::uint64_t expected_samples = 0;  // reserves memory; a hint
  std::uint64_t bootstrap_seed = 1;
  std::uint32_t bootstrap_resamples = 2000;
};

// What one sample came to. About 24 bytes a sample is what a metric keeps in memory.
struct SampleOutcome {
  std::uint64_t sample_id = 0;
  // Binary metrics: of class 1, as given (probability, or logit). Answers: F1, 0..1.
  double score = 0.0;
  std::int32_t label = 0;  // the true class
  // Class scores: how many classes come before the true one. Answers: 0 when exact.
  std::int32_t rank = 0;
};

struct AccuracyResult {
  std::string metric;
  double value = 0.0;
  std::uint64_t n = 0;  // samples; questions where the metric scores answers
  double interval_low = 0.0;
  double interval_high = 0.0;   // two-sided, 95 %
  std::string interval_method;  // "Wilson", or "bootstrap percentile, 2000 resamples, seed 1"
  std::map<std::string, double> extra;  // the other metrics that the same outcomes define
  std::uint64_t nan_samples = 0;        // a score was NaN; counted against the model
  std::string note;                     // a convention that was needed, or ""
  Scores scores = Scores::kLogits;
  std::vector<SampleOutcome> outcomes;  // in the order added
};

// {metric, value, n, interval: [lo, hi], interval_method, extra, nan_samples, note}
Json to_json(const AccuracyResult& result);

// Accumulates by sample. One thread at a time.
//
// Class scores (top1, top5): one output of C scores per sample, in any shape; or one integer, the
// class itself (top1 only). The prediction is the largest score, of equal ones the lowest class, as
// argmax has it. NaN never wins: it comes after every number, and a true class whose score is NaN
// is wrong. Labels are class indices of this output: the data set has applied the label offset.
//
// Binary (binary_accuracy, auc, log_loss, f1, precision, recall): labels 0 and 1. Class 1 is
// predicted from probability 0.5 (logit 0) up. NaN is wrong for either label, and ranks on the
// wrong side in auc. log_loss clips probabilities to [2^-52, 1 - 2^-52]. auc is Mann-Whitney's,
// ties a half. precision and f1 without a denominator are 0, and `note` says so.
//
// Answers (exact_match, squad_f1): of questions, in per cent as they are published.
class Metric {
 public:
  ~Metric();
  Metric(Metric&&) noexcept;
  Metric& operator=(Metric&&) noexcept;

  // kInvalidArgument naming the sample for a label outside the classes, an output whose size is
  // not the first one's, a probability outside [0,1], or a dtype that holds no scores.
  Status add(std::uint64_t sample_id, const TensorView& output, std::int64_t label);

  // The answer to a question, by a number that is the question's in every run. kInvalidArgument for
  // a metric that doesn't score answers.
  Status add_answer(std::uint64_t question, const AnswerScore& score, bool has_nan);

  std::uint64_t count() const;

  // kFailedPrecondition "no samples" when nothing was added, and when the metric is not defined on
  // what was (auc of one class). Call once.
  Result<AccuracyResult> finish();

 private:
  struct State;
  explicit Metric(std::unique_ptr<State> state);
  friend Result<Metric> make_metric(std::string_view name, const MetricOptions& options);
  std::unique_ptr<State> state_;
};

// kNotFound with the nearest name.
Result<Metric> make_metric(std::string_view name, const MetricOptions& options = {});

// The metric as a function of how often each outcome counts: what a bootstrap asks for. It owns
// what it needs of `outcomes`. Weights are one per outcome; nullopt where the metric is not
// defined. kNotFound as make_metric.
Result<WeightedStatistic> weighted_metric(std::string_view name, Scores scores,
                                          std::span<const SampleOutcome> outcomes);

struct MetricDescription {
  std::string_view name;
  std::string_view doc;
  std::string_view legacy_key;  // the name in the published report: "Top-1"
  bool higher_is_better;
  bool is_proportion;  // of samples: each is right or wrong, and the value is the share that is
                       // right
  double full = 1.0;   // a proportion's value when every sample is right: 1, or 100
  bool is_of_answers = false;  // fed by add_answer()
};
std::vector<MetricDescription> metric_descriptions();
const MetricDescription* find_metric(std::string_view name);  // nullptr when unknown

// For a proportion: is this sample right? Only top1, top5, binary_accuracy and exact_match.
bool is_correct(std::string_view metric, Scores scores, const SampleOutcome& outcome);

}  // namespace assay::check
