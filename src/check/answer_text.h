#pragma once

// How an answer in words is scored: the published definition of SQuAD v1.1.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay::check {

// What one question's answer came to.
struct AnswerScore {
  bool exact = false;  // equal to one of the true answers, once both are normalised
  double f1 = 0.0;     // the best over the true answers, 0..1
};

// Lower case, without ASCII punctuation, without the words a, an and the, words separated by single
// spaces; in this order. `text` is UTF-8. Thread-safe. kUnavailable where the C library has no
// C.UTF-8 locale, which the tables of characters come from.
Result<std::string> normalize_answer(std::string_view text);

// F1 is over the words that both have, each as often as both have it; 0 when they share none, also
// when both are empty. Without a true answer the score is 0. Errors as normalize_answer.
Result<AnswerScore> score_answer(std::string_view predicted,
                                 std::span<const std::string> true_answers);

}  // namespace assay::check
