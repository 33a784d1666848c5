#include "check/answer_span.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay::check {
namespace {

// The positions with the largest scores, largest first.
std::vector<std::size_t> best_positions(std::span<const double> scores, ContextRange context,
                                        std::int64_t n_best) {
  std::vector<std::size_t> positions;
  for (std::size_t i = context.first; i < context.first + context.count; ++i) {
    if (!std::isnan(scores[i])) positions.push_back(i);
  }
  const std::size_t kept =
      std::min(positions.size(), static_cast<std::size_t>(std::max<std::int64_t>(n_best, 0)));
  const auto larger = [&](std::size_t a, std::size_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  };
  std::partial_sort(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(kept),
                    positions.end(), larger);
  positions.resize(kept);
  return positions;
}

}  // namespace

std::optional<AnswerSpan> best_span(std::span<const double> start, std::span<const double> end,
                                    ContextRange context, const SpanOptions& options) {
  const std::vector<std::size_t> starts = best_positions(start, context, options.n_best);
  const std::vector<std::size_t> ends = best_positions(end, context, options.n_best);
  std::optional<AnswerSpan> best;
  for (const std::size_t first : starts) {
    for (const std::size_t last : ends) {
      if (last < first) continue;
      if (static_cast<std::int64_t>(last - first) >= options.max_answer_length) continue;
      const double score = start[first] + end[last];
      if (std::isnan(score)) continue;  // infinities of both signs
      if (!best || score > best->score) best = AnswerSpan{first, last, score};
    }
  }
  return best;
}

}  // namespace assay::check
