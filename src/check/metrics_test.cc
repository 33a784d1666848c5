#include "check/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/testing.h"
#include "check/top_classes.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Sample {
  std::vector<float> scores;
  std::int64_t label;
};

TensorView view_of(const std::vector<float>& scores) {
  return {{"y", DType::kFloat32, {1, static_cast<std::int64_t>(scores.size())}},
          std::as_bytes(std::span(scores))};
}

AccuracyResult evaluate(std::string_view name, const std::vector<Sample>& samples,
                        Scores scores = Scores::kLogits) {
  MetricOptions options;
  options.scores = scores;
  Result<Metric> metric = make_metric(name, options);
  EXPECT_THAT(metric, IsOk());
  std::uint64_t id = 0;
  for (const Sample& sample : samples) {
    EXPECT_THAT(metric->add(id++, view_of(sample.scores), sample.label), IsOk());
  }
  Result<AccuracyResult> result = metric->finish();
  EXPECT_THAT(result, IsOk());
  return std::move(*result);
}

Status add_one(std::string_view name, const Sample& sample, Scores scores = Scores::kLogits) {
  MetricOptions options;
  options.scores = scores;
  return make_metric(name, options)->add(7, view_of(sample.scores), sample.label);
}

TEST(TopOne, AllNegativeLogitsStillHaveABestClass) {
  const AccuracyResult result = evaluate("top1", {{{-5, -1, -3}, 1}, {{-5, -4, -3}, 2}});
  EXPECT_EQ(result.value, 1.0);
  EXPECT_EQ(result.n, 2U);
}

TEST(TopOne, ThousandClassesAndTheirBackgroundClassAreToldApartByTheLabelAlone) {
  std::vector<float> scores(1001, -2.0F);
  scores[500] = -1.0F;  // class 499 of a data set whose label offset is 1
  EXPECT_EQ(evaluate("top1", {{scores, 499 + 1}}).value, 1.0);
  EXPECT_EQ(evaluate("top1", {{scores, 499}}).value, 0.0);
  EXPECT_EQ(evaluate("top1", {{scores, 0}}).value, 0.0);
  EXPECT_THAT(add_one("top1", {std::vector<float>(1000, 0.0F), 1000}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("sample 7"), HasSubstr("label 1000"))));
  EXPECT_THAT(add_one("top1", {{1, 2}, -1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("label -1")));
}

TEST(TopOne, OfEqualScoresTheLowestClassWinsAsInArgmax) {
  EXPECT_EQ(evaluate("top1", {{{1, 1, 1}, 0}}).value, 1.0);
  EXPECT_EQ(evaluate("top1", {{{1, 1, 1}, 1}}).value, 0.0);
}

TEST(TopOne, NanNeverWinsAndNeverHelps) {
  EXPECT_EQ(evaluate("top1", {{{kNaN, 1, 0}, 1}}).value, 1.0);
  EXPECT_EQ(evaluate("top1", {{{kNaN, 1, 0}, 0}}).value, 0.0);
  const AccuracyResult all = evaluate("top1", {{{kNaN, kNaN}, 0}, {{kNaN, kNaN}, 1}});
  EXPECT_EQ(all.value, 0.0);
  EXPECT_EQ(all.nan_samples, 2U);
}

TEST(TopFive, CountsTheFiveBestAndComesWithTopOne) {
  const std::vector<float> scores{6, 5, 4, 3, 2, 1};
  EXPECT_EQ(evaluate("top5", {{scores, 4}, {scores, 5}}).value, 0.5);
  const AccuracyResult result = evaluate("top1", {{scores, 4}, {scores, 0}});
  EXPECT_EQ(result.value, 0.5);
  EXPECT_EQ(result.extra.at("top5"), 1.0);
}

TEST(TopOne, AClassInsteadOfScoresIsAcceptedAndHasNoTopFive) {
  Result<Metric> metric = make_metric("top1");
  const std::vector<std::int64_t> three{3};
  const TensorView view{{"class", DType::kInt64, {1}}, std::as_bytes(std::span(three))};
  ASSERT_THAT(metric->add(0, view, 3), IsOk());
  ASSERT_THAT(metric->add(1, view, 4), IsOk());
  const Result<AccuracyResult> result = metric->finish();
  EXPECT_EQ(result->value, 0.5);
  EXPECT_FALSE(result->extra.contains("top5"));
  EXPECT_THAT(make_metric("top5")->add(0, view, 3),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("only top1")));
}

TEST(TopOne, ResultStatesNAndItsWilsonInterval) {
  std::vector<Sample> samples(20, {{1, 0}, 0});
  samples[3].label = samples[11].label = 1;
  const AccuracyResult result = evaluate("top1", samples);
  EXPECT_EQ(result.value, 0.9);
  EXPECT_EQ(result.interval_method, "Wilson");
  EXPECT_NEAR(result.interval_low, 0.69897, 1e-5);
  EXPECT_NEAR(result.interval_high, 0.97213, 1e-5);
  const Json json = to_json(result);
  EXPECT_EQ(json["n"], 20);
  EXPECT_EQ(json["interval"].size(), 2U);
}

TEST(EveryMetric, OfNoSamplesIsAnErrorAndNeverZeroByZero) {
  for (const MetricDescription& metric : metric_descriptions()) {
    EXPECT_THAT(make_metric(metric.name)->finish(),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no samples")))
        << metric.name;
  }
}

TEST(EveryMetric, HasADocAndIsFoundByItsName) {
  for (const MetricDescription& metric : metric_descriptions()) {
    EXPECT_FALSE(metric.doc.empty());
    ASSERT_NE(find_metric(metric.name), nullptr);
    EXPECT_EQ(find_metric(metric.name)->legacy_key, metric.legacy_key);
  }
  EXPECT_EQ(find_metric("topp1"), nullptr);
  EXPECT_THAT(make_metric("topp1"), StatusIs(StatusCode::kNotFound, HasSubstr("\"top1\"?")));
}

TEST(EveryMetric, RefusesAnOutputOfAnotherSizeThanTheFirst) {
  Result<Metric> metric = make_metric("top1");
  ASSERT_THAT(metric->add(0, view_of({1, 2, 3}), 0), IsOk());
  EXPECT_THAT(metric->add(1, view_of({1, 2}), 0),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sample 1")));
  EXPECT_EQ(metric->count(), 1U);
}

TEST(Binary, AccuracyPredictsClassOneFromAHalfUp) {
  const std::vector<Sample> samples{{{0.5F}, 1}, {{0.49F}, 0}, {{0.9F}, 0}, {{0.1F}, 1}};
  EXPECT_EQ(evaluate("binary_accuracy", samples, Scores::kProbabilities).value, 0.5);
  EXPECT_EQ(evaluate("binary_accuracy", {{{0.0F}, 1}, {{-0.1F}, 0}}).value, 1.0);
}

TEST(Binary, TwoScoresAreThoseOfBothClasses) {
  EXPECT_EQ(evaluate("binary_accuracy", {{{3, -3}, 0}, {{-3, 3}, 1}}).value, 1.0);
  EXPECT_EQ(evaluate("auc", {{{0.9F, 0.1F}, 0}, {{0.2F, 0.8F}, 1}}, Scores::kProbabilities).value,
            1.0);
  EXPECT_THAT(add_one("auc", {{1, 2, 3}, 0}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one or two")));
}

TEST(Binary, LabelsOtherThanZeroAndOneAreRefused) {
  EXPECT_THAT(add_one("auc", {{0.5F}, 2}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("label 2")));
}

TEST(Binary, ScoresThatAreNoProbabilitiesAreRefusedWhenTheyShouldBe) {
  EXPECT_THAT(add_one("log_loss", {{3.5F}, 1}, Scores::kProbabilities),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("logits?")));
  EXPECT_THAT(add_one("log_loss", {{1.0001F}, 1}, Scores::kProbabilities), IsOk());
}

TEST(Auc, IsTheShareOfOrderedPairsTiesAHalf) {
  // Pairs (positive, negative): (3,1) ordered, (3,3) tied, (2,1) ordered, (2,3) not: 2.5 of 4.
  const std::vector<Sample> samples{{{3}, 1}, {{2}, 1}, {{1}, 0}, {{3}, 0}};
  EXPECT_EQ(evaluate("auc", samples).value, 0.625);
}

TEST(Auc, OfAConstantScoreIsAHalf) {
  EXPECT_EQ(evaluate("auc", {{{2}, 1}, {{2}, 0}, {{2}, 0}}).value, 0.5);
}

TEST(Auc, OfOneClassIsNotDefined) {
  Result<Metric> metric = make_metric("auc");
  ASSERT_THAT(metric->add(0, view_of({1}), 1), IsOk());
  EXPECT_THAT(metric->finish(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("all 1 samples have one label")));
}

TEST(Auc, NanRanksOnTheWrongSide) {
  EXPECT_EQ(evaluate("auc", {{{kNaN}, 1}, {{-100}, 0}}).value, 0.0);
  EXPECT_EQ(evaluate("auc", {{{100}, 1}, {{kNaN}, 0}}).value, 0.0);
}

TEST(LogLoss, IsClippedAndCountsNanAsWorst) {
  const double worst = 52 * std::log(2.0);
  EXPECT_NEAR(evaluate("log_loss", {{{0}, 1}}, Scores::kProbabilities).value, worst, 1e-12);
  EXPECT_NEAR(evaluate("log_loss", {{{kNaN}, 1}}, Scores::kProbabilities).value, worst, 1e-12);
  EXPECT_NEAR(evaluate("log_loss", {{{1e6F}, 0}}).value, worst, 1e-12);
  EXPECT_NEAR(evaluate("log_loss", {{{0}, 0}, {{0}, 1}}).value, std::log(2.0), 1e-15);
  EXPECT_NEAR(evaluate("log_loss", {{{0.25F}, 1}}, Scores::kProbabilities).value, std::log(4.0),
              1e-15);
}

TEST(F1, PrecisionAndRecallFollowFromTheConfusion) {
  // 2 true positives, 1 false positive, 2 false negatives, 1 true negative.
  const std::vector<Sample> samples{{{1}, 1}, {{1}, 1}, {{1}, 0}, {{-1}, 1}, {{-1}, 1}, {{-1}, 0}};
  EXPECT_DOUBLE_EQ(evaluate("precision", samples).value, 2.0 / 3);
  EXPECT_DOUBLE_EQ(evaluate("recall", samples).value, 0.5);
  EXPECT_DOUBLE_EQ(evaluate("f1", samples).value, 4.0 / 7);
}

TEST(F1, WithoutADenominatorIsZeroAndSaysSo) {
  const AccuracyResult result = evaluate("precision", {{{-1}, 1}, {{-1}, 0}});
  EXPECT_EQ(result.value, 0.0);
  EXPECT_THAT(result.note, HasSubstr("never predicted"));
  EXPECT_EQ(evaluate("f1", {{{-1}, 0}}).note,
            "class 1 is never predicted: precision is 0; no sample is of class 1: recall is 0");
}

TEST(Auc, IntervalIsASeededBootstrapAndIsStated) {
  std::vector<Sample> samples;
  for (int i = 0; i < 60; ++i) samples.push_back({{static_cast<float>((i * 37) % 60)}, i % 3 == 0});
  const AccuracyResult one = evaluate("auc", samples);
  const AccuracyResult again = evaluate("auc", samples);
  EXPECT_EQ(one.interval_method, "bootstrap percentile, 2000 resamples, seed 1");
  EXPECT_EQ(one.interval_low, again.interval_low);
  EXPECT_LT(one.interval_low, one.value);
  EXPECT_GT(one.interval_high, one.value);
}

TEST(WeightedMetric, CountingASampleTwiceIsAddingItTwice) {
  const std::vector<Sample> samples{{{3}, 1}, {{2}, 1}, {{1}, 0}, {{3}, 0}};
  std::vector<Sample> doubled = samples;
  doubled.push_back(samples[1]);
  const std::vector<std::uint32_t> weights{1, 2, 1, 1};
  for (const char* name : {"auc", "log_loss", "f1", "precision", "recall", "binary_accuracy"}) {
    const AccuracyResult result = evaluate(name, samples);
    const auto weighted = weighted_metric(name, Scores::kLogits, result.outcomes);
    EXPECT_DOUBLE_EQ((*weighted)(weights).value(), evaluate(name, doubled).value) << name;
  }
}

TEST(TopClasses, AreInOrderAndNanComesLast) {
  const std::vector<double> scores{1, std::nan(""), 3, 3, -1};
  const TopClasses top = top_classes(scores, 5);
  EXPECT_EQ(top.count, 5U);
  EXPECT_EQ(top.classes, (std::array<std::size_t, 5>{2, 3, 0, 4, 1}));
  EXPECT_EQ(top_classes(scores, 2).count, 2U);
  EXPECT_EQ(shared_classes(top_classes(scores, 2), top_classes(scores, 3)), 2U);
  EXPECT_EQ(top_classes({}, 5).count, 0U);
}

}  // namespace
}  // namespace assay::check
