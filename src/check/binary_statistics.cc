#include "check/binary_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace assay::check {
namespace {

using Outcomes = std::span<const SampleOutcome>;
using Weights = std::span<const std::uint32_t>;

// Weighted counts; exact below 2^53.
struct Confusion {
  double true_positive = 0.0;
  double false_positive = 0.0;
  double false_negative = 0.0;
  double true_negative = 0.0;
};

double ratio_or_zero(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

double f1_of(const Confusion& c) {
  return ratio_or_zero(2.0 * c.true_positive,
                       2.0 * c.true_positive + c.false_positive + c.false_negative);
}
double precision_of(const Confusion& c) {
  return ratio_or_zero(c.true_positive, c.true_positive + c.false_positive);
}
double recall_of(const Confusion& c) {
  return ratio_or_zero(c.true_positive, c.true_positive + c.false_negative);
}

// One of true/false x positive/negative for each outcome, as 2 * predicted + label.
std::vector<std::uint8_t> cells_of(Scores scores, Outcomes outcomes) {
  std::vector<std::uint8_t> cells;
  cells.reserve(outcomes.size());
  for (const SampleOutcome& outcome : outcomes) {
    cells.push_back(
        static_cast<std::uint8_t>(2 * predicted_class(scores, outcome) + outcome.label));
  }
  return cells;
}

Confusion count_cells(std::span<const std::uint8_t> cells, Weights weights) {
  std::uint64_t counts[4] = {};
  for (std::size_t i = 0; i < cells.size(); ++i) counts[cells[i]] += weights[i];
  return {static_cast<double>(counts[3]), static_cast<double>(counts[2]),
          static_cast<double>(counts[1]), static_cast<double>(counts[0])};
}

WeightedStatistic of_confusion(Scores scores, Outcomes outcomes,
                               double (*value)(const Confusion&)) {
  return [cells = cells_of(scores, outcomes), value](Weights weights) -> std::optional<double> {
    return value(count_cells(cells, weights));
  };
}

// A NaN score ranks on the wrong side of everything: below for a true class 1, above for class 0.
int nan_side(const SampleOutcome& outcome) {
  if (!std::isnan(outcome.score)) return 0;
  return outcome.label == 1 ? -1 : 1;
}

bool ranks_below(const SampleOutcome& a, const SampleOutcome& b) {
  const int side_a = nan_side(a);
  const int side_b = nan_side(b);
  if (side_a != side_b || side_a != 0) return side_a < side_b;
  return a.score < b.score;
}

// Outcomes in the order of their scores.
struct Ranked {
  std::vector<std::uint32_t> order;        // index of the outcome
  std::vector<std::uint8_t> positive;      // by place in the order
  std::vector<std::uint8_t> begins_group;  // its score is not that of the one before
};

Ranked rank(Outcomes outcomes) {
  Ranked ranked;
  ranked.order.resize(outcomes.size());
  std::iota(ranked.order.begin(), ranked.order.end(), 0U);
  std::stable_sort(ranked.order.begin(), ranked.order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return ranks_below(outcomes[a], outcomes[b]);
  });
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const SampleOutcome& outcome = outcomes[ranked.order[i]];
    ranked.positive.push_back(outcome.label == 1 ? 1 : 0);
    const bool begins = i == 0 || ranks_below(outcomes[ranked.order[i - 1]], outcome);
    ranked.begins_group.push_back(begins ? 1 : 0);
  }
  return ranked;
}

// Pairs of a positive above a negative, equal ones a half, over all pairs. Twice the number of
// pairs is counted, in integers: exact while it stays below 2^64.
std::optional<double> mann_whitney(const Ranked& ranked, Weights weights) {
  std::uint64_t positives = 0, negatives = 0, twice_pairs = 0;
  std::uint64_t group_positives = 0, group_negatives = 0;
  const auto close_group = [&] {
    twice_pairs += group_positives * (2 * negatives + group_negatives);
    positives += group_positives;
    negatives += group_negatives;
    group_positives = group_negatives = 0;
  };
  for (std::size_t i = 0; i < ranked.order.size(); ++i) {
    if (ranked.begins_group[i] != 0) close_group();
    const std::uint64_t weight = weights[ranked.order[i]];
    (ranked.positive[i] != 0 ? group_positives : group_negatives) += weight;
  }
  close_group();
  if (positives == 0 || negatives == 0) return std::nullopt;
  return static_cast<double>(twice_pairs) /
         (2.0 * static_cast<double>(positives) * static_cast<double>(negatives));
}

// Probabilities are held to [kClip, 1 - kClip].
constexpr double kClip = 0x1p-52;

// -log of the probability given to the true class.
double loss_of(Scores scores, const SampleOutcome& outcome) {
  const double most = -std::log(kClip);
  if (std::isnan(outcome.score)) return most;
  if (scores == Scores::kProbabilities) {
    const double clipped = std::clamp(outcome.score, kClip, 1.0 - kClip);
    return outcome.label == 1 ? -std::log(clipped) : -std::log1p(-clipped);
  }
  // log(1 + exp(-margin)) without overflow, held to the same bounds as a clipped probability.
  const double margin = outcome.label == 1 ? outcome.score : -outcome.score;
  const double loss = std::log1p(std::exp(-std::fabs(margin))) + std::fmax(-margin, 0.0);
  return std::clamp(loss, -std::log1p(-kClip), most);
}

}  // namespace

std::int32_t predicted_class(Scores scores, const SampleOutcome& outcome) {
  if (std::isnan(outcome.score)) return 1 - outcome.label;
  return outcome.score >= (scores == Scores::kLogits ? 0.0 : 0.5) ? 1 : 0;
}

WeightedStatistic area_under_curve(Scores /*scores*/, Outcomes outcomes) {
  return [ranked = rank(outcomes)](Weights weights) { return mann_whitney(ranked, weights); };
}

WeightedStatistic mean_log_loss(Scores scores, Outcomes outcomes) {
  std::vector<double> losses;
  losses.reserve(outcomes.size());
  for (const SampleOutcome& outcome : outcomes) losses.push_back(loss_of(scores, outcome));
  return [losses = std::move(losses)](Weights weights) -> std::optional<double> {
    double sum = 0.0;
    double total = 0.0;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      sum += losses[i] * weights[i];
      total += weights[i];
    }
    if (total == 0.0) return std::nullopt;
    return sum / total;
  };
}

WeightedStatistic f1_score(Scores scores, Outcomes outcomes) {
  return of_confusion(scores, outcomes, f1_of);
}
WeightedStatistic precision(Scores scores, Outcomes outcomes) {
  return of_confusion(scores, outcomes, precision_of);
}
WeightedStatistic recall(Scores scores, Outcomes outcomes) {
  return of_confusion(scores, outcomes, recall_of);
}

std::string missing_denominators(Scores scores, Outcomes outcomes) {
  const std::vector<std::uint8_t> cells = cells_of(scores, outcomes);
  const std::vector<std::uint32_t> once(cells.size(), 1);
  const Confusion c = count_cells(cells, once);
  std::string note;
  if (c.true_positive + c.false_positive == 0.0)
    note = "class 1 is never predicted: precision is 0";
  if (c.true_positive + c.false_negative == 0.0) {
    note += note.empty() ? "" : "; ";
    note += "no sample is of class 1: recall is 0";
  }
  return note;
}

}  // namespace assay::check
