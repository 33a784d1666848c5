#pragma once

// From start and end scores to the words of an answer.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace assay::check {

struct SpanOptions {
  std::int64_t n_best = 20;             // starts, and ends, of a window that are considered
  std::int64_t max_answer_length = 30;  // tokens
};

// Positions of a window, both included.
struct AnswerSpan {
  std::size_t first = 0;
  std::size_t last = 0;
  double score = 0.0;  // start score + end score
};

// The positions of a window that hold text an answer can be taken from: [first, first + count).
// All others, the question's and the padding among them, are no candidates.
struct ContextRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

// The best span of one window: an end not before its start, both among the `n_best` largest of
// their kind in the context, at most `max_answer_length` tokens. Of equal scores the lower position
// comes first. A NaN is no candidate. nullopt when nothing fits. Requires start and end to reach as
// far as the context does.
std::optional<AnswerSpan> best_span(std::span<const double> start, std::span<const double> end,
                                    ContextRange context, const SpanOptions& options);

}  // namespace assay::check
