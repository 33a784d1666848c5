#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataset/tokenizer.h"

namespace assay::dataset {

// A question about a text. Views live as long as the data set.
struct Question {
  std::string_view id;                   // as the data set's file has it; no two are equal
  std::span<const std::string> answers;  // the true ones; at least one
  std::string_view context;              // the text that holds them, UTF-8
  // The samples that show the text to the model, window by window.
  std::size_t first_sample = 0;
  std::size_t samples = 0;  // at least 1
};

// What a sample shows of the text: position `first_position + k` of the model's input is tokens[k].
struct ContextWindow {
  std::size_t first_position = 0;
  std::span<const TextToken> tokens;  // bytes of the question's context
};

// Questions and what their samples show. Thread-safe, as the data set is.
class QuestionSet {
 public:
  virtual ~QuestionSet() = default;

  virtual std::size_t question_count() const = 0;
  // Requires index < question_count(). In the order of their samples, which follow each other
  // without a gap.
  virtual Question question(std::size_t index) const = 0;
  // Requires a sample of the data set.
  virtual ContextWindow window(std::size_t sample) const = 0;
};

// How many questions have all of their windows in the first `samples` samples.
std::size_t whole_questions(const QuestionSet& questions, std::size_t samples);

// `samples`, and what the question that the last of them belongs to needs beyond.
std::size_t with_whole_questions(const QuestionSet& questions, std::size_t samples);

}  // namespace assay::dataset
