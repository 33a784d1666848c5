#include "check/top_classes.h"

#include <algorithm>

namespace assay::check {

std::size_t rank_of(std::span<const double> scores, std::size_t label) {
  const double score = scores[label];
  if (std::isnan(score)) return scores.size();
  std::size_t rank = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (comes_before(scores[i], i, score, label)) ++rank;
  }
  return rank;
}

TopClasses top_classes(std::span<const double> scores, std::size_t k) {
  TopClasses top;
  const std::size_t wanted = std::min({k, kMostTop, scores.size()});
  for (std::size_t i = 0; i < scores.size() && wanted > 0; ++i) {
    std::size_t place = top.count;
    while (place > 0 &&
           comes_before(scores[i], i, scores[top.classes[place - 1]], top.classes[place - 1])) {
      --place;
    }
    if (place == wanted) continue;
    top.count = std::min(top.count + 1, wanted);
    for (std::size_t j = top.count - 1; j > place; --j) top.classes[j] = top.classes[j - 1];
    top.classes[place] = i;
  }
  return top;
}

std::size_t shared_classes(const TopClasses& a, const TopClasses& b) {
  std::size_t shared = 0;
  for (std::size_t i = 0; i < a.count; ++i) {
    const auto end = b.classes.begin() + static_cast<std::ptrdiff_t>(b.count);
    if (std::find(b.classes.begin(), end, a.classes[i]) != end) ++shared;
  }
  return shared;
}

}  // namespace assay::check
