#pragma once

// Is the accuracy good enough? Against the reference on the same samples, and against a floor that
// the workload names. Where n cannot decide, the answer is "inconclusive", which is neither.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "check/metrics.h"
#include "check/verdict.h"

namespace assay::check {

struct AccuracyCriteria {
  // At least this share of the reference's value (at most its 1/share where lower is better).
  std::optional<double> relative_floor = 0.99;
  // At least this value (at most, where lower is better). None unless the workload names one.
  std::optional<double> absolute_floor;
  std::uint64_t bootstrap_seed = 1;
  std::uint32_t bootstrap_resamples = 2000;
};

// One criterion and what came of it.
struct CriterionResult {
  std::string criterion;  // "top1 at least 99 % of the reference's on the same samples"
  std::string method;     // how it was decided
  Verdict verdict = Verdict::kNotJudged;
  std::string reason;  // one sentence with the figures
  std::uint64_t n = 0;
  std::optional<double> estimate;  // ratio to the reference, or the value
  std::optional<double> low;       // one-sided 95 % bounds of the estimate
  std::optional<double> high;
  // inconclusive: how many samples it would take, were the rates as seen; none when more samples
  // like these would not decide it
  std::optional<std::uint64_t> samples_needed;
};

struct AccuracyVerdict {
  Verdict verdict = Verdict::kNotJudged;
  std::vector<CriterionResult> criteria;
};

// `reference` may be null: the relative criterion then reads "not judged". `outputs_identical`: the
// outputs of every sample equal the reference's bit by bit, which decides the relative criterion
// at any n. kFailedPrecondition when the two results are not of one metric over the same samples.
//
// Method, relative: proportions (top1, top5, binary_accuracy) by the score test for paired ratios
// (Nam and Blackwelder); the others by a seeded paired bootstrap of the ratio, which below
// ln(0.05)/ln(share) samples (299 for 99 %) can fail but not pass: so few could hide a share of
// ruined samples as large as the margin. Pass: the one-sided 95 % lower bound reaches the floor.
// Fail: the upper one does not. Absolute: the same with Wilson's interval, or the bootstrap's.
Result<AccuracyVerdict> judge_accuracy(const AccuracyResult& tested,
                                       const AccuracyResult* reference, bool outputs_identical,
                                       const AccuracyCriteria& criteria = {});

Json to_json(const AccuracyVerdict& verdict);

}  // namespace assay::check
