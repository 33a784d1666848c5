#pragma once

// The statistics of binary outcomes, each as a function of weights. Internal to check; the metric
// table in metrics.cc names them.

#include <cstdint>
#include <span>
#include <string>

#include "check/metrics.h"
#include "check/statistics.h"

namespace assay::check {

// 0 or 1; for a NaN score the class that is not the true one.
std::int32_t predicted_class(Scores scores, const SampleOutcome& outcome);

WeightedStatistic area_under_curve(Scores scores, std::span<const SampleOutcome> outcomes);
WeightedStatistic mean_log_loss(Scores scores, std::span<const SampleOutcome> outcomes);
WeightedStatistic f1_score(Scores scores, std::span<const SampleOutcome> outcomes);
WeightedStatistic precision(Scores scores, std::span<const SampleOutcome> outcomes);
WeightedStatistic recall(Scores scores, std::span<const SampleOutcome> outcomes);

// Says which of precision, recall and f1 are 0 for want of a denominator; else "".
std::string missing_denominators(Scores scores, std::span<const SampleOutcome> outcomes);

}  // namespace assay::check
