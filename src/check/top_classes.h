#pragma once

// The order of class scores, one definition for metrics and agreement. Internal to check.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::check {

// True when class a comes before class b: the larger score first, of equal ones the lower class,
// and NaN after every number.
inline bool comes_before(double score_a, std::size_t a, double score_b, std::size_t b) {
  if (std::isnan(score_a) || std::isnan(score_b)) {
    if (std::isnan(score_a) != std::isnan(score_b)) return std::isnan(score_b);
    return a < b;
  }
  if (score_a != score_b) return score_a > score_b;
  return a < b;
}

// How many classes come before `label`; scores.size() when the score of `label` is NaN.
std::size_t rank_of(std::span<const double> scores, std::size_t label);

inline constexpr std::size_t kMostTop = 5;
struct TopClasses {
  std::array<std::size_t, kMostTop> classes{};
  std::size_t count = 0;
};
// The first `k` (at most 5) classes, in order.
TopClasses top_classes(std::span<const double> scores, std::size_t k);

// How many classes both have.
std::size_t shared_classes(const TopClasses& a, const TopClasses& b);

}  // namespace assay::check
