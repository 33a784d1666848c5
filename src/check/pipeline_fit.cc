#include "check/pipeline_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "check/top_classes.h"

namespace assay::check {
namespace {

bool all_finite(const Answers& answers) {
  return std::all_of(answers.values.begin(), answers.values.end(),
                     [](double value) { return std::isfinite(value); });
}

// Sum of squares of what is left when each element's mean over the samples is taken away.
double spread(const Answers& answers) {
  double sum = 0;
  for (std::size_t i = 0; i < answers.width; ++i) {
    double mean = 0;
    for (std::size_t s = 0; s < answers.samples; ++s) mean += answers.row(s)[i];
    mean /= static_cast<double>(answers.samples);
    for (std::size_t s = 0; s < answers.samples; ++s) {
      const double apart = answers.row(s)[i] - mean;
      sum += apart * apart;
    }
  }
  return sum;
}

double squared_difference(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

double share_of_same_class(const Answers& predicted, const Answers& got) {
  std::size_t same = 0;
  for (std::size_t s = 0; s < got.samples; ++s) {
    const std::size_t wanted = top_classes(predicted.row(s), 1).classes[0];
    if (top_classes(got.row(s), 1).classes[0] == wanted) ++same;
  }
  return static_cast<double>(same) / static_cast<double>(got.samples);
}

}  // namespace

Result<Fit> fit_of(const Answers& predicted, const Answers& got, bool class_scores) {
  if (predicted.samples != got.samples || predicted.width != got.width) {
    return internal_error(fmt::format("answers of {} samples of {} values, and of {} of {}",
                                      predicted.samples, predicted.width, got.samples, got.width));
  }
  Fit fit;
  if (got.samples == 0 || got.width == 0) return fit;
  if (class_scores && got.width > 1) fit.top1_agreement = share_of_same_class(predicted, got);
  if (got.samples < 2 || !all_finite(predicted) || !all_finite(got)) return fit;
  const double scale = spread(predicted);
  if (!(scale > 0) || !std::isfinite(scale)) return fit;
  double sum = 0;
  for (std::size_t s = 0; s < got.samples; ++s) {
    const double squared = squared_difference(predicted.row(s), got.row(s)) / scale;
    fit.sample_differences.push_back(squared);
    sum += squared;
  }
  fit.difference = std::sqrt(sum);
  return fit;
}

Fit joined(const std::vector<Fit>& fits) {
  Fit whole;
  for (const Fit& fit : fits) {
    if (fit.top1_agreement) whole.top1_agreement = fit.top1_agreement;
    if (!fit.difference) continue;
    whole.difference = std::max(whole.difference.value_or(0), *fit.difference);
    whole.sample_differences.resize(fit.sample_differences.size());
    for (std::size_t s = 0; s < fit.sample_differences.size(); ++s) {
      whole.sample_differences[s] += fit.sample_differences[s];
    }
  }
  return whole;
}

bool deviates(const Fit& untouched) {
  return untouched.difference && *untouched.difference > kDeviation;
}

Restoration restoration(const Fit& untouched, const Fit& predicted) {
  Restoration found;
  const std::size_t samples = untouched.sample_differences.size();
  if (!untouched.difference || !predicted.difference || samples == 0 ||
      predicted.sample_differences.size() != samples) {
    return found;
  }
  // One that the hypothesis leaves as it is, such as a grey picture, says nothing against it.
  std::size_t nearer = 0;
  for (std::size_t s = 0; s < samples; ++s) {
    if (predicted.sample_differences[s] <= untouched.sample_differences[s]) ++nearer;
  }
  found.nearer = static_cast<double>(nearer) / static_cast<double>(samples);
  found.restores = deviates(untouched) && found.nearer >= kRestoredShare &&
                   *predicted.difference <= kRestoredDifference &&
                   *predicted.difference <= kRestoredPart * *untouched.difference &&
                   predicted.top1_agreement.value_or(0) >= untouched.top1_agreement.value_or(0);
  return found;
}

}  // namespace assay::check
