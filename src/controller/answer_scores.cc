#include "controller/answer_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/suggest.h"
#include "check/answer_span.h"
#include "check/answer_text.h"
#include "check/elements.h"
#include "dataset/question_set.h"

namespace assay::controller {
namespace {

std::vector<std::string> names_of(std::span<const TensorSpec> outputs) {
  std::vector<std::string> names;
  for (const TensorSpec& output : outputs) names.push_back(output.name);
  return names;
}

std::optional<std::size_t> output_with(std::span<const TensorSpec> outputs, std::string_view part) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name.find(part) != std::string::npos) return i;
  }
  return std::nullopt;
}

bool holds_pairs(const TensorSpec& output) {
  return !output.shape.empty() && output.shape.back() == 2;
}

Result<SpanOutputs> choose(std::span<const TensorSpec> outputs, const MetricSpec& metric) {
  if (!metric.start_output.empty() || !metric.end_output.empty()) {
    ASSIGN_OR_RETURN(const std::size_t start, named_output(outputs, metric.start_output));
    ASSIGN_OR_RETURN(const std::size_t end, named_output(outputs, metric.end_output));
    return SpanOutputs{start, end};
  }
  if (!metric.output.empty()) {
    ASSIGN_OR_RETURN(const std::size_t pairs, named_output(outputs, metric.output));
    return SpanOutputs{pairs, pairs};
  }
  const auto start = output_with(outputs, "start");
  const auto end = output_with(outputs, "end");
  if (start && end && *start != *end) return SpanOutputs{*start, *end};
  if (outputs.size() == 1) return SpanOutputs{0, 0};
  if (outputs.size() == 2) return SpanOutputs{0, 1};
  return invalid_argument(
      fmt::format("metric: the model has {} outputs, and none is the start and the end scores by "
                  "its name; name them with metric.start_output and metric.end_output",
                  outputs.size()));
}

Status check_form(const TensorSpec& output, bool pairs, std::size_t positions) {
  ASSIGN_OR_RETURN(const std::int64_t elements, element_count(output.shape));
  if (static_cast<std::uint64_t>(elements) == positions * (pairs ? 2 : 1) &&
      (!pairs || holds_pairs(output))) {
    return ok_status();
  }
  return invalid_argument(
      fmt::format("metric: output {} is not {} for each of the {} positions of the "
                  "input",
                  to_string(output), pairs ? "a pair of scores" : "one score", positions));
}

// Start and end scores of one sample.
struct SpanScores {
  std::vector<double> start;
  std::vector<double> end;
};

Result<std::vector<double>> load_output(check::OutputReader& reader, std::uint64_t sample,
                                        std::size_t output) {
  ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, reader.output(sample, output));
  const DType dtype = reader.outputs()[output].dtype;
  std::vector<double> values(bytes.size() / size_of(dtype));
  check::load_doubles(dtype, bytes, values.data());
  return values;
}

Result<SpanScores> load_scores(check::OutputReader& reader, std::uint64_t sample,
                               const SpanOutputs& outputs) {
  SpanScores scores;
  ASSIGN_OR_RETURN(scores.start, load_output(reader, sample, outputs.start));
  if (outputs.start != outputs.end) {
    ASSIGN_OR_RETURN(scores.end, load_output(reader, sample, outputs.end));
    return scores;
  }
  const std::size_t positions = scores.start.size() / 2;
  scores.end.resize(positions);
  for (std::size_t i = 0; i < positions; ++i) {
    scores.end[i] = scores.start[2 * i + 1];
    scores.start[i] = scores.start[2 * i];
  }
  scores.start.resize(positions);
  return scores;
}

bool has_nan(std::span<const double> scores) {
  return std::ranges::any_of(scores, [](double score) { return std::isnan(score); });
}

struct Answer {
  std::string_view text;  // of the context
  bool has_nan = false;
};

Result<Answer> best_answer(check::OutputReader& reader, const dataset::QuestionSet& questions,
                           const dataset::Question& question, const SpanOutputs& outputs,
                           const check::SpanOptions& options) {
  Answer answer;
  std::optional<check::AnswerSpan> best;
  for (std::size_t i = 0; i < question.samples; ++i) {
    const std::size_t sample = question.first_sample + i;
    ASSIGN_OR_RETURN(const SpanScores scores, load_scores(reader, sample, outputs));
    answer.has_nan = answer.has_nan || has_nan(scores.start) || has_nan(scores.end);
    const dataset::ContextWindow window = questions.window(sample);
    const auto span = check::best_span(scores.start, scores.end,
                                       {window.first_position, window.tokens.size()}, options);
    if (!span || (best && best->score >= span->score)) continue;
    best = span;
    const std::size_t begin = window.tokens[span->first - window.first_position].begin;
    const std::size_t end = window.tokens[span->last - window.first_position].end;
    answer.text = question.context.substr(begin, end - begin);
  }
  return answer;
}

}  // namespace

Result<std::size_t> named_output(std::span<const TensorSpec> outputs, const std::string& name) {
  const auto found = std::ranges::find(outputs, name, &TensorSpec::name);
  if (found != outputs.end()) return static_cast<std::size_t>(found - outputs.begin());
  return invalid_argument(fmt::format("metric: the model has no output \"{}\"{}", name,
                                      did_you_mean(name, names_of(outputs))));
}

Result<SpanOutputs> find_span_outputs(std::span<const TensorSpec> outputs, const MetricSpec& metric,
                                      std::size_t positions) {
  ASSIGN_OR_RETURN(const SpanOutputs found, choose(outputs, metric));
  const bool pairs = found.start == found.end;
  RETURN_IF_ERROR(check_form(outputs[found.start], pairs, positions));
  RETURN_IF_ERROR(check_form(outputs[found.end], pairs, positions));
  return found;
}

Status score_answers(check::OutputReader& reader, const dataset::Dataset& dataset,
                     std::uint64_t samples, const MetricSpec& metric, check::Metric& into) {
  const dataset::QuestionSet* const questions = dataset.questions();
  if (questions == nullptr) {
    return invalid_argument(
        fmt::format("metric {} scores answers, and data set {} asks no questions", metric.name,
                    dataset.name()));
  }
  ASSIGN_OR_RETURN(const std::int64_t elements, element_count(dataset.specs().front().shape));
  const auto positions = static_cast<std::size_t>(elements);
  ASSIGN_OR_RETURN(const SpanOutputs outputs,
                   find_span_outputs(reader.outputs(), metric, positions));
  const std::size_t count = dataset::whole_questions(*questions, samples);
  for (std::size_t i = 0; i < count; ++i) {
    const dataset::Question question = questions->question(i);
    ASSIGN_OR_RETURN(const Answer answer,
                     best_answer(reader, *questions, question, outputs, metric.span));
    ASSIGN_OR_RETURN(const check::AnswerScore score,
                     check::score_answer(answer.text, question.answers));
    RETURN_IF_ERROR(into.add_answer(i, score, answer.has_nan));
  }
  return ok_status();
}

}  // namespace assay::controller
