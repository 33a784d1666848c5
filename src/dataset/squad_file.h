#pragma once

// The file of SQuAD v1.1: {"version", "data": [{"title", "paragraphs": [{"context", "qas": [{"id",
// "question", "answers": [{"text", "answer_start"}]}]}]}]}. Other keys are passed over.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay::dataset {

struct SquadQuestion {
  std::string id;
  std::string text;
  std::vector<std::string> answers;  // at least one
  std::size_t paragraph = 0;
};

struct SquadFile {
  std::vector<std::string> contexts;  // of the paragraphs
  std::vector<SquadQuestion> questions;
};

// `name` stands for the file in messages. kDataLoss, naming the place or the question and both
// sides, for what is no JSON or not of this form, an answer that isn't where its offset (in
// characters) says, and an id that is there twice; kInvalidArgument for SQuAD v2.0, whose questions
// may have no answer; kFailedPrecondition "no samples" for a file without a question.
Result<SquadFile> parse_squad(std::string_view text, const std::string& name);

}  // namespace assay::dataset
