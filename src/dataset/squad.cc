// SQuAD v1.1: questions about a text, answered by words of it. A sample is one window of a
// question.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "dataset/loader.h"
#include "dataset/question_set.h"
#include "dataset/squad_file.h"
#include "dataset/squad_windows.h"
#include "dataset/text_input.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVersion = "squad/1";
constexpr std::string_view kFile = "dev-v1.1.json";
constexpr std::uint64_t kMaxFileBytes = 1 << 28;  // the published one has 4.9 MB
constexpr std::int64_t kDocStride = 128;
constexpr std::int64_t kMaxQueryLength = 64;

// The file is held, since a few megabytes of text are all that there is.
struct SquadText {
  SquadFile file;
  std::vector<std::vector<TextToken>> contexts;  // of file.contexts
  std::vector<std::vector<TextToken>> queries;   // of file.questions, cut to the longest
};

struct Sample {
  std::size_t question = 0;
  TokenRange tokens;
};

class Squad final : public Dataset, public QuestionSet {
 public:
  Squad(DatasetFacts facts, TextSetup setup, SquadText text, std::vector<Sample> samples)
      : Dataset(std::move(facts)),
        setup_(std::move(setup)),
        text_(std::move(text)),
        samples_(std::move(samples)) {
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].tokens.first == 0) first_samples_.push_back(i);
    }
  }

  // "<question>#<window>", windows counted from 1.
  std::string sample_id(std::size_t index) const override {
    const std::size_t question = samples_[index].question;
    return fmt::format("{}#{}", text_.file.questions[question].id,
                       index - first_samples_[question] + 1);
  }

  const QuestionSet* questions() const override { return this; }

  std::size_t question_count() const override { return text_.file.questions.size(); }

  Question question(std::size_t index) const override {
    const SquadQuestion& question = text_.file.questions[index];
    const std::size_t first = first_samples_[index];
    const std::size_t end =
        index + 1 < first_samples_.size() ? first_samples_[index + 1] : samples_.size();
    return {question.id, question.answers, text_.file.contexts[question.paragraph], first,
            end - first};
  }

  ContextWindow window(std::size_t sample) const override {
    const Sample& shown = samples_[sample];
    const auto& tokens = text_.contexts[text_.file.questions[shown.question].paragraph];
    return {text_.queries[shown.question].size() + 2,
            std::span(tokens).subspan(shown.tokens.first, shown.tokens.count)};
  }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    const Sample& sample = samples_[index];
    const SpecialIds special = setup_.tokenizer->special_ids();
    TextValues values;
    const auto put = [&](std::int64_t id, std::int64_t segment) {
      values[static_cast<std::size_t>(TextRole::kIds)].push_back(id);
      values[static_cast<std::size_t>(TextRole::kMask)].push_back(1);
      values[static_cast<std::size_t>(TextRole::kSegments)].push_back(segment);
    };
    put(special.start, 0);
    for (const TextToken& token : text_.queries[sample.question]) put(token.id, 0);
    put(special.end, 0);
    const ContextWindow shown = window(index);
    for (const TextToken& token : shown.tokens) put(token.id, 1);
    put(special.end, 1);
    const std::size_t length = setup_.tokenizer->max_length();
    values[static_cast<std::size_t>(TextRole::kIds)].resize(length, special.padding);
    values[static_cast<std::size_t>(TextRole::kMask)].resize(length, 0);
    values[static_cast<std::size_t>(TextRole::kSegments)].resize(length, 0);
    return write_text_inputs(setup_.inputs, values, into);
  }

  // What is true of a question is in questions().
  Result<Label> read_label(std::size_t /*index*/) const override { return Label(); }

  TextSetup setup_;
  SquadText text_;
  std::vector<Sample> samples_;
  std::vector<std::size_t> first_samples_;  // of the questions
};

Result<WindowOptions> window_options(const TextPreprocess& steps) {
  WindowOptions options;
  options.max_length = static_cast<std::size_t>(steps.max_length);
  options.doc_stride = static_cast<std::size_t>(steps.doc_stride.value_or(kDocStride));
  options.max_query_length =
      static_cast<std::size_t>(steps.max_query_length.value_or(kMaxQueryLength));
  if (options.max_length > options.max_query_length + kWindowSpecials) return options;
  return invalid_argument(
      fmt::format("preprocess.max_length: {} ids have no room for text beside a question of "
                  "preprocess.max_query_length {} and {} special ids",
                  options.max_length, options.max_query_length, kWindowSpecials));
}

Result<SquadText> tokenize(SquadFile file, const Tokenizer& tokenizer, std::size_t max_query) {
  SquadText text;
  for (const std::string& context : file.contexts) {
    ASSIGN_OR_RETURN(std::vector<TextToken> tokens, tokenizer.split(context));
    text.contexts.push_back(std::move(tokens));
  }
  for (const SquadQuestion& question : file.questions) {
    ASSIGN_OR_RETURN(std::vector<TextToken> tokens, tokenizer.split(question.text));
    if (tokens.size() > max_query) tokens.resize(max_query);
    text.queries.push_back(std::move(tokens));
  }
  text.file = std::move(file);
  return text;
}

std::vector<Sample> make_samples(const SquadText& text, const WindowOptions& options) {
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < text.file.questions.size(); ++i) {
    const std::size_t tokens = text.contexts[text.file.questions[i].paragraph].size();
    for (const TokenRange& window : make_windows(tokens, text.queries[i].size(), options)) {
      samples.push_back({i, window});
    }
  }
  return samples;
}

}  // namespace

Result<std::unique_ptr<Dataset>> load_squad(const DatasetSource& source) {
  ASSIGN_OR_RETURN(const fs::path path, find_data_file(source, kFile));
  ASSIGN_OR_RETURN(const std::string json, read_file(path, kMaxFileBytes));
  ASSIGN_OR_RETURN(SquadFile file, parse_squad(json, quoted(path)));
  ASSIGN_OR_RETURN(TextSetup setup, make_text_setup(source));
  const auto& steps = std::get<TextPreprocess>(source.request.preprocess);
  ASSIGN_OR_RETURN(const WindowOptions options, window_options(steps));
  ASSIGN_OR_RETURN(SquadText text,
                   tokenize(std::move(file), *setup.tokenizer, options.max_query_length));
  std::vector<Sample> samples = make_samples(text, options);
  Fingerprint fingerprint(source, kVersion);
  fingerprint.add("vocab", setup.vocab_digest);
  fingerprint.add("file", sha256_hex(json));
  DatasetFacts facts =
      make_facts(source, samples.size(), specs_of(setup.inputs), fingerprint.hex_digest());
  facts.class_count = 0;  // whatever the label offset is
  return std::unique_ptr<Dataset>(std::make_unique<Squad>(std::move(facts), std::move(setup),
                                                          std::move(text), std::move(samples)));
}

std::size_t whole_questions(const QuestionSet& questions, std::size_t samples) {
  std::size_t low = 0;  // so many are whole; `high` and beyond are not
  std::size_t high = questions.question_count();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const Question question = questions.question(middle);
    if (question.first_sample + question.samples <= samples) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::size_t with_whole_questions(const QuestionSet& questions, std::size_t samples) {
  const std::size_t whole = whole_questions(questions, samples);
  if (whole == questions.question_count()) return samples;
  const Question cut = questions.question(whole);
  return cut.first_sample < samples ? cut.first_sample + cut.samples : samples;
}

}  // namespace assay::dataset
