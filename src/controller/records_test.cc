#include "controller/records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace assay::controller {
namespace {

Criterion criterion(const std::string& outcome) { return {"x", outcome, "", "", ""}; }

PhaseRecord phase(worker::Outcome outcome) {
  PhaseRecord record;
  record.name = "p";
  record.end = {outcome, "why"};
  return record;
}

MeasuredRow row(worker::Outcome outcome, bool valid, bool measured) {
  MeasuredRow result;
  result.phase = phase(outcome);
  result.row.valid = valid;
  if (!valid) result.row.reasons = {"3 of 60 calls failed"};
  if (measured) result.row.rounds.resize(1);
  return result;
}

TEST(OverallVerdict, PassNeedsEverythingDecidedAndNothingFailed) {
  const std::vector<PhaseRecord> fine = {phase(worker::Outcome::kOk),
                                         phase(worker::Outcome::kSkipped)};
  EXPECT_EQ(overall_verdict({criterion("pass"), criterion("not_judged")}, fine, false), "pass");
  EXPECT_EQ(overall_verdict({criterion("pass"), criterion("inconclusive")}, fine, false),
            "inconclusive");
  EXPECT_EQ(overall_verdict({criterion("inconclusive"), criterion("fail")}, fine, false), "fail");
}

TEST(OverallVerdict, WithNothingDecidedItIsInconclusive) {
  const std::vector<PhaseRecord> fine = {phase(worker::Outcome::kOk)};
  EXPECT_EQ(overall_verdict({}, fine, false), "inconclusive");  // --compile_only
  EXPECT_EQ(overall_verdict({criterion("not_judged")}, fine, false), "inconclusive");
  EXPECT_EQ(overall_verdict({criterion("not_judged"), criterion("pass")}, fine, false), "pass");
}

TEST(OverallVerdict, BrokenPhaseLeavesItIncompleteUnlessSomethingFailed) {
  for (const worker::Outcome outcome :
       {worker::Outcome::kFailed, worker::Outcome::kCrashed, worker::Outcome::kTimedOut,
        worker::Outcome::kOutOfMemory}) {
    EXPECT_EQ(overall_verdict({criterion("pass")}, {phase(outcome)}, false), "incomplete");
    EXPECT_EQ(overall_verdict({criterion("fail")}, {phase(outcome)}, false), "fail");
  }
  EXPECT_EQ(overall_verdict({criterion("pass")}, {}, /*interrupted=*/true), "incomplete");
}

TEST(PerformanceCriterion, EveryRowHasToCount) {
  EXPECT_EQ(performance_criterion({row(worker::Outcome::kOk, true, true)}).outcome, "pass");
  const Criterion failed = performance_criterion(
      {row(worker::Outcome::kOk, true, true), row(worker::Outcome::kOk, false, true)});
  EXPECT_EQ(failed.outcome, "fail");
  EXPECT_EQ(failed.found, "1 of 2 rows valid");
  EXPECT_NE(failed.detail.find("3 of 60 calls failed"), std::string::npos);
}

TEST(PerformanceCriterion, ACrashIsThePhasesAndLeavesRowsUndecided) {
  const Criterion crashed = performance_criterion({row(worker::Outcome::kCrashed, true, false)});
  EXPECT_EQ(crashed.outcome, "skipped");
  EXPECT_NE(crashed.detail.find("batch size"), std::string::npos);
}

TEST(PerformanceCriterion, ADisturbedHostDecidesNothing) {
  MeasuredRow disturbed = row(worker::Outcome::kOk, false, true);
  disturbed.row.noisy = true;
  disturbed.row.failures = 0;
  EXPECT_EQ(performance_criterion({disturbed}).outcome, "inconclusive");
  disturbed.row.failures = 3;
  EXPECT_EQ(performance_criterion({disturbed}).outcome, "fail");
  disturbed.row.failures = 0;
  disturbed.match.emplace().drifted = 1;
  EXPECT_EQ(performance_criterion({disturbed}).outcome, "fail");
}

TEST(OverallVerdict, SpeedAloneIsNoPassWhereAnswersWereAskedAbout) {
  const Criterion valid{"performance", "pass", "", "", ""};
  const Criterion unjudged{"numeric", "not_judged", "", "", ""};
  const Criterion identical{"numeric", "pass", "", "", ""};
  EXPECT_EQ(overall_verdict({valid, unjudged}, {}, false), "inconclusive");
  EXPECT_EQ(overall_verdict({valid, identical}, {}, false), "pass");
  EXPECT_EQ(overall_verdict({valid}, {}, false), "pass");
}

TEST(PerformanceCriterion, InterruptedRowsAreNotFailures) {
  EXPECT_EQ(performance_criterion({row(worker::Outcome::kOk, true, true),
                                   row(worker::Outcome::kSkipped, true, false)})
                .outcome,
            "skipped");
}

TEST(PhaseJson, HasTheNamesOfTheResult) {
  PhaseRecord record = phase(worker::Outcome::kCrashed);
  record.batch_size = 8;
  const Json json = phase_json(record);
  EXPECT_EQ(json.at("outcome"), "crashed");
  EXPECT_EQ(json.at("reason"), "why");
  EXPECT_EQ(json.at("batch_size"), 8);
  EXPECT_TRUE(json.at("peak_rss_bytes").is_null());
}

}  // namespace
}  // namespace assay::controller
