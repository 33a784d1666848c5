#include "check/accuracy_verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/testing.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

// A top1 result of n samples of which those with an index in [first_wrong, first_wrong + wrong) are
// wrong.
AccuracyResult top1(std::uint64_t n, std::uint64_t first_wrong, std::uint64_t wrong) {
  AccuracyResult result;
  result.metric = "top1";
  result.n = n;
  result.value = static_cast<double>(n - wrong) / static_cast<double>(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const bool is_wrong = i >= first_wrong && i < first_wrong + wrong;
    result.outcomes.push_back({i, 0.0, 0, is_wrong ? 1 : 0});
  }
  return result;
}

CriterionResult relative(const AccuracyResult& tested, const AccuracyResult& reference,
                         bool identical = false) {
  AccuracyCriteria criteria;
  criteria.bootstrap_resamples = 300;
  const Result<AccuracyVerdict> verdict = judge_accuracy(tested, &reference, identical, criteria);
  EXPECT_THAT(verdict, IsOk());
  EXPECT_EQ(verdict->criteria.size(), 1U);
  EXPECT_EQ(verdict->verdict, verdict->criteria[0].verdict);
  return verdict->criteria[0];
}

TEST(AccuracyVerdict, TwentyPhotographsCannotDecideAndSayHowManyWould) {
  const CriterionResult result = relative(top1(20, 0, 2), top1(20, 0, 2));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  // z = sqrt(18 * 0.01 / 0.99); 20 * (1.645 / z)^2 = 297.6
  EXPECT_EQ(result.samples_needed, 298U);
  EXPECT_THAT(result.reason, HasSubstr("298 samples"));
}

TEST(AccuracyVerdict, AsManySamplesAsItSaidDecide) {
  EXPECT_EQ(relative(top1(290, 0, 29), top1(290, 0, 29)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(relative(top1(300, 0, 30), top1(300, 0, 30)).verdict, Verdict::kPass);
}

TEST(AccuracyVerdict, IdenticalOutputsDecideAtAnyNumber) {
  const CriterionResult result = relative(top1(20, 0, 2), top1(20, 0, 2), true);
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_THAT(result.method, HasSubstr("bit by bit"));
}

TEST(AccuracyVerdict, TenThousandImagesWithFewFlipsPass) {
  // 749 wrong in the reference, 747 here, 690 of them the same.
  const CriterionResult result = relative(top1(10000, 59, 747), top1(10000, 0, 749));
  EXPECT_EQ(result.verdict, Verdict::kPass);
  EXPECT_NEAR(*result.estimate, 9253.0 / 9251.0, 1e-12);
  EXPECT_GT(*result.low, 0.99);
}

TEST(AccuracyVerdict, AClearLossFails) {
  const CriterionResult result = relative(top1(10000, 0, 1500), top1(10000, 0, 750));
  EXPECT_EQ(result.verdict, Verdict::kFail);
  EXPECT_LT(*result.high, 0.99);
}

TEST(AccuracyVerdict, ALossAtTheMarginIsInconclusiveNotFailed) {
  const CriterionResult result = relative(top1(1000, 0, 15), top1(1000, 0, 5));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
}

TEST(AccuracyVerdict, AReferenceThatIsNeverRightIsNoMeasure) {
  EXPECT_EQ(relative(top1(50, 0, 50), top1(50, 0, 50)).verdict, Verdict::kInconclusive);
  EXPECT_EQ(relative(top1(50, 0, 10), top1(50, 0, 50)).verdict, Verdict::kInconclusive);
}

TEST(AccuracyVerdict, OtherSamplesThanTheReferenceAreRefused) {
  const AccuracyResult tested = top1(20, 0, 2);
  AccuracyResult reference = top1(19, 0, 2);
  EXPECT_THAT(judge_accuracy(tested, &reference, false),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("20 here, 19")));
  reference = top1(20, 0, 2);
  reference.outcomes[4].sample_id = 99;
  EXPECT_THAT(judge_accuracy(tested, &reference, false),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the same samples")));
}

TEST(AccuracyVerdict, ASampleCountedTwiceIsRefused) {
  AccuracyResult tested = top1(20, 0, 2);
  tested.outcomes[4].sample_id = 3;
  const AccuracyResult reference = tested;
  EXPECT_THAT(judge_accuracy(tested, &reference, false),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sample 3 was counted twice")));
}

TEST(AccuracyVerdict, OrderOfTheSamplesDoesNotMatter) {
  const AccuracyResult reference = top1(1000, 0, 50);
  AccuracyResult tested = top1(1000, 10, 50);
  const CriterionResult in_order = relative(tested, reference);
  std::shuffle(tested.outcomes.begin(), tested.outcomes.end(), std::mt19937(5));
  EXPECT_EQ(relative(tested, reference).reason, in_order.reason);
}

TEST(AccuracyVerdict, WithoutAReferenceIsNotJudged) {
  const Result<AccuracyVerdict> verdict = judge_accuracy(top1(20, 0, 2), nullptr, false);
  ASSERT_THAT(verdict, IsOk());
  EXPECT_EQ(verdict->verdict, Verdict::kNotJudged);
}

TEST(AccuracyVerdict, NoSamplesAreAnError) {
  EXPECT_THAT(judge_accuracy(AccuracyResult{}, nullptr, false),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no samples")));
}

Verdict absolute(const AccuracyResult& tested, double floor) {
  AccuracyCriteria criteria;
  criteria.relative_floor.reset();
  criteria.absolute_floor = floor;
  criteria.bootstrap_resamples = 300;
  return judge_accuracy(tested, nullptr, false, criteria)->verdict;
}

TEST(AccuracyFloor, IsHeldAgainstTheIntervalNotTheValue) {
  const AccuracyResult result = top1(10000, 0, 749);  // 0.9251, bounds 0.9207 and 0.9293
  EXPECT_EQ(absolute(result, 0.92), Verdict::kPass);
  EXPECT_EQ(absolute(result, 0.925), Verdict::kInconclusive);
  EXPECT_EQ(absolute(result, 0.93), Verdict::kFail);
}

TEST(AccuracyFloor, OfOneIsDecidedByTheSamplesThemselves) {
  EXPECT_EQ(absolute(top1(4, 0, 0), 1.0), Verdict::kPass);
  EXPECT_EQ(absolute(top1(4, 0, 1), 1.0), Verdict::kFail);
}

TEST(AccuracyFloor, StatesHowManySamplesItWouldTake) {
  AccuracyCriteria criteria;
  criteria.relative_floor.reset();
  criteria.absolute_floor = 0.8;
  const auto verdict = judge_accuracy(top1(20, 0, 2), nullptr, false, criteria);
  EXPECT_EQ(verdict->verdict, Verdict::kInconclusive);
  // 1.645^2 * 0.8 * 0.2 / 0.1^2 = 43.3
  EXPECT_EQ(verdict->criteria[0].samples_needed, 44U);
}

// Binary scores that separate the labels by `signal`; `noise` moves each one.
AccuracyResult binary(const std::string& metric, std::size_t n, double signal, double noise) {
  std::mt19937 generator(11);
  std::mt19937 noise_generator(12);
  const auto uniform = [](std::mt19937& g) { return static_cast<double>(g() % 20001) / 10000 - 1; };
  MetricOptions options;
  options.bootstrap_resamples = 20;
  Result<Metric> built = make_metric(metric, options);
  for (std::uint64_t id = 0; id < n; ++id) {
    const int label = static_cast<int>(id % 2);
    const double score =
        signal * (label - 0.5) + uniform(generator) + noise * uniform(noise_generator);
    const std::vector<double> scores{score};
    EXPECT_THAT(
        built->add(id, {{"y", DType::kFloat64, {1}}, std::as_bytes(std::span(scores))}, label),
        IsOk());
  }
  return *built->finish();
}

TEST(AccuracyVerdict, AucIsJudgedByAPairedBootstrap) {
  const AccuracyResult reference = binary("auc", 3000, 1.0, 0.0);
  const CriterionResult near = relative(binary("auc", 3000, 1.0, 1e-4), reference);
  EXPECT_EQ(near.verdict, Verdict::kPass);
  EXPECT_THAT(near.method, HasSubstr("paired bootstrap"));
  EXPECT_EQ(relative(binary("auc", 3000, 1.0, 3.0), reference).verdict, Verdict::kFail);
}

TEST(AccuracyVerdict, TooFewSamplesCannotPassByBootstrap) {
  const CriterionResult result = relative(binary("auc", 20, 1.0, 0.0), binary("auc", 20, 1.0, 0.0));
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_EQ(result.samples_needed, 299U);
}

TEST(AccuracyVerdict, LowerLogLossIsBetter) {
  const AccuracyResult reference = binary("log_loss", 3000, 1.0, 0.0);
  AccuracyResult better = reference;
  for (SampleOutcome& outcome : better.outcomes) outcome.score = outcome.label == 1 ? 9 : -9;
  better.value = 1.3e-4;
  EXPECT_EQ(relative(better, reference).verdict, Verdict::kPass);
  EXPECT_EQ(relative(reference, better).verdict, Verdict::kFail);
  EXPECT_EQ(absolute(reference, 0.9), Verdict::kPass);
  EXPECT_EQ(absolute(reference, 0.1), Verdict::kFail);
}

TEST(Verdict, OfAWholeIsItsWorstPart) {
  EXPECT_EQ(combine(Verdict::kPass, Verdict::kFail), Verdict::kFail);
  EXPECT_EQ(combine(Verdict::kPass, Verdict::kInconclusive), Verdict::kInconclusive);
  EXPECT_EQ(combine(Verdict::kInconclusive, Verdict::kFail), Verdict::kFail);
  EXPECT_EQ(combine(Verdict::kNotJudged, Verdict::kPass), Verdict::kPass);
  EXPECT_EQ(combine(Verdict::kNotJudged, Verdict::kNotJudged), Verdict::kNotJudged);
}

TEST(AccuracyVerdict, JsonHasCriterionMethodAndReason) {
  const AccuracyResult result = top1(20, 0, 2);
  const Json json = to_json(*judge_accuracy(result, &result, false));
  EXPECT_EQ(json["verdict"], "inconclusive");
  EXPECT_EQ(json["criteria"][0]["samples_needed"], 298);
  EXPECT_THAT(json["criteria"][0]["method"].get<std::string>(), HasSubstr("Nam and Blackwelder"));
  EXPECT_THAT(json["criteria"][0]["criterion"].get<std::string>(), HasSubstr("99 %"));
}

}  // namespace
}  // namespace assay::check
