#pragma once

// How near a backend's answers are to those that a hypothesis predicts, and when that restores
// agreement. Definitions and measured margins: docs/reference/pipeline.md.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay::check {

// One output of a few samples, row by row.
struct Answers {
  std::size_t samples = 0;
  std::size_t width = 0;  // values of a sample
  std::vector<double> values;

  std::span<const double> row(std::size_t sample) const {
    return std::span(values).subspan(sample * width, width);
  }
  std::span<double> row(std::size_t sample) {
    return std::span(values).subspan(sample * width, width);
  }
};

struct Fit {
  // Root mean square of got - predicted, by the root mean square of predicted less its mean over
  // the samples: 0 is agreement, 1 no better than one answer for every input. Empty when the
  // prediction is the same for all samples, fewer than two are given, or values are not finite.
  std::optional<double> difference;
  std::vector<double> sample_differences;  // squared, of each sample; empty as `difference`
  std::optional<double> top1_agreement;    // share of samples with the predicted best class
};

// Both of one form, else kInternal. `class_scores`: top1_agreement is counted.
Result<Fit> fit_of(const Answers& predicted, const Answers& got, bool class_scores);

// Several outputs of the same samples as one: the largest difference decides.
Fit joined(const std::vector<Fit>& fits);

// Whether outputs differ so much that the pipeline is looked at.
bool deviates(const Fit& untouched);

// Whether the hypothesis accounts for what was different without it.
struct Restoration {
  bool restores = false;
  double nearer = 0;  // share of the samples whose answers are nearer to the prediction, or as near
};
Restoration restoration(const Fit& untouched, const Fit& predicted);

// Below this a difference is nobody's pipeline; what deviates() holds against.
inline constexpr double kDeviation = 0.02;
// The difference has to fall to this part of what it was, and to this at most.
inline constexpr double kRestoredPart = 0.6;
inline constexpr double kRestoredDifference = 0.5;
// For at least this share of the samples.
inline constexpr double kRestoredShare = 0.9;

}  // namespace assay::check
