#pragma once

#include <string>
#include <vector>

#include "check/noise_floor.h"
#include "check/numeric.h"
#include "check/verdict.h"

namespace assay::check {

// What a difference is held to.
struct NumericCriterion {
  bool tolerance_named = false;    // the workload's criteria gave atol or rtol
  std::vector<NoiseFloor> floors;  // of the outputs, where they were measured
};

struct NumericVerdict {
  Verdict verdict = Verdict::kNotJudged;
  std::string reason;
};

// A non-finite mismatch fails, always. Where a tolerance is named every element must be within it.
// Else the placement decides: a real error fails, identical and inside pass, unknown is not judged.
NumericVerdict judge_numeric(const NumericResult& result, const NumericCriterion& criterion);
// The worst of the outputs': fail, inconclusive, not judged, pass. Inconclusive at best when
// samples are missing.
NumericVerdict judge_numeric(const NumericReport& report, const NumericCriterion& criterion);

}  // namespace assay::check
