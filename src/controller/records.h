#pragma once

// Parts of result.json from what the rooms found. Pure: nothing here reads a clock or a file.

#include <string>
#include <vector>

#include "base/json.h"
#include "check/accuracy_verdict.h"
#include "check/metrics.h"
#include "check/numeric.h"
#include "check/numeric_verdict.h"
#include "controller/performance.h"
#include "controller/phase.h"
#include "controller/steps.h"
#include "workload/interact_profile.h"

namespace assay::controller {

Json phase_json(const PhaseRecord& record);

// The `questions` list: every question, its answer and where that came from.
Json questions_json(const workload::InteractProfile& profile, const workload::Answers& answers);

Json compile_json(const Compiled& compiled, const PhaseRecord& phase);

struct AccuracyFacts {
  const check::AccuracyResult* tested = nullptr;
  const check::AccuracyResult* reference = nullptr;  // may be null
  const check::AccuracyVerdict* verdict = nullptr;   // may be null
  double data_percent = 100;
  std::string dataset;
  bool calibrated_on_evaluation_data = false;
};
Json accuracy_json(const AccuracyFacts& facts);

Json numeric_json(const check::NumericReport& report, const check::NumericCriterion& wanted);

struct RowFacts {
  std::string inputs_source;  // "dataset" or "generated"
  std::uint64_t seed = 0;
  std::string command;
};
Json row_json(const MeasuredRow& row, const RowFacts& facts);

// One element of `criteria`.
struct Criterion {
  std::string name;
  std::string outcome;  // pass, fail, inconclusive, not_judged, skipped
  std::string found;
  std::string wanted;
  std::string detail;
};
Json to_json(const Criterion& criterion);

// Of a run on a model of a device: "simulated" in `result` and in every object of it that holds
// figures, so that none can be taken out of it and be the device's.
void mark_simulated(Json& result);

Criterion accuracy_criterion(const check::AccuracyVerdict& verdict);
Criterion numeric_criterion(const check::NumericReport& report,
                            const check::NumericCriterion& wanted);
Criterion performance_criterion(const std::vector<MeasuredRow>& rows);

// "pass", "fail", "inconclusive" or "incomplete" for the whole. A pass takes at least one criterion
// that is met (docs/adr/0007).
std::string overall_verdict(const std::vector<Criterion>& criteria,
                            const std::vector<PhaseRecord>& phases, bool interrupted);

}  // namespace assay::controller
