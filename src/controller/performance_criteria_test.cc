#include "controller/performance_criteria.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay::controller {
namespace {

Json row(std::int64_t batch_size, double p99_ms, double upper99_ms, double qps, double low_qps) {
  return Json{{"asked_batch_size", batch_size},
              {"valid", true},
              {"noisy", false},
              {"reasons", Json::array()},
              {"qps", qps},
              {"latency_ns", {{"mean", 1e6}, {"p99", p99_ms * 1e6}, {"p999", nullptr}}},
              {"upper99", {{"p99", upper99_ms * 1e6}, {"p999", nullptr}}},
              {"withheld",
               {{{"percentile", "p999"}, {"reason", "needs 6636 independent samples, has 700"}}}},
              {"intervals", {{"qps", {low_qps, qps}}, {"latency_ns", {{"mean", {0.9e6, 1.1e6}}}}}}};
}

workload::Criteria latency(const std::string& statistic, double max_ms) {
  workload::Criteria criteria;
  criteria.latency = {{statistic, max_ms}};
  return criteria;
}

Criterion only(const workload::Criteria& criteria, const Json& rows,
               const std::vector<std::int64_t>& batch_sizes) {
  const std::vector<Criterion> judged = judge_named_bounds(criteria, rows, batch_sizes);
  EXPECT_EQ(judged.size(), 1U);
  return judged.empty() ? Criterion{} : judged.front();
}

TEST(NamedBounds, NothingNamedNothingJudged) {
  EXPECT_TRUE(judge_named_bounds({}, Json::array({row(1, 4, 5, 100, 90)}), {1}).empty());
}

TEST(NamedBounds, LatencyIsMetOnlyWithItsConfidenceBound) {
  const Json rows = Json::array({row(1, 4, 5, 100, 90)});
  EXPECT_EQ(only(latency("p99", 5), rows, {1}).outcome, "pass");
  EXPECT_EQ(only(latency("p99", 4.5), rows, {1}).outcome, "inconclusive");
  const Criterion failed = only(latency("p99", 3), rows, {1});
  EXPECT_EQ(failed.outcome, "fail");
  EXPECT_EQ(failed.name, "latency_p99");
  EXPECT_EQ(failed.found, "batch size 1: 4 ms");
  EXPECT_EQ(failed.wanted, "at most 3 ms in every row");
  EXPECT_EQ(only(latency("mean", 1.05), rows, {1}).outcome, "inconclusive");
}

TEST(NamedBounds, EveryRowHasToMeetTheBound) {
  const Json rows = Json::array({row(1, 4, 5, 100, 90), row(8, 9, 10, 200, 190)});
  EXPECT_EQ(only(latency("p99", 10), rows, {1, 8}).outcome, "pass");
  EXPECT_EQ(only(latency("p99", 6), rows, {1, 8}).outcome, "fail");
}

TEST(NamedBounds, WithheldMissingAndInvalidRowsDecideNothing) {
  const Json rows = Json::array({row(1, 4, 5, 100, 90)});
  const Criterion withheld = only(latency("p999", 50), rows, {1});
  EXPECT_EQ(withheld.outcome, "inconclusive");
  EXPECT_NE(withheld.detail.find("needs 6636"), std::string::npos);
  EXPECT_EQ(only(latency("p99", 50), rows, {1, 8}).outcome, "inconclusive");
  Json invalid = row(1, 4, 5, 100, 90);
  invalid["valid"] = false;
  invalid["reasons"] = {"3 of 60 queries failed"};
  const Criterion undecided = only(latency("p99", 50), Json::array({invalid}), {1});
  EXPECT_EQ(undecided.outcome, "inconclusive");
  EXPECT_NE(undecided.detail.find("3 of 60"), std::string::npos);
}

TEST(NamedBounds, NoiseExcusesWhatIsBeyondTheBoundOnly) {
  Json noisy = row(1, 4, 5, 100, 90);
  noisy["noisy"] = true;
  EXPECT_EQ(only(latency("p99", 3), Json::array({noisy}), {1}).outcome, "inconclusive");
  EXPECT_EQ(only(latency("p99", 5), Json::array({noisy}), {1}).outcome, "pass");
}

TEST(NamedBounds, LowestRate) {
  const Json rows = Json::array({row(1, 4, 5, 100, 90)});
  workload::Criteria criteria;
  criteria.min_qps = 80;
  EXPECT_EQ(only(criteria, rows, {1}).outcome, "pass");
  criteria.min_qps = 95;
  EXPECT_EQ(only(criteria, rows, {1}).outcome, "inconclusive");
  criteria.min_qps = 101;
  const Criterion failed = only(criteria, rows, {1});
  EXPECT_EQ(failed.outcome, "fail");
  EXPECT_EQ(failed.name, "min_qps");
  EXPECT_EQ(failed.found, "batch size 1: 100 samples/s");
}

}  // namespace
}  // namespace assay::controller
