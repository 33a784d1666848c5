// Wrong ways to make ids and masks of a text.

#include <algorithm>
#include <utility>

#include "check/hypotheses.h"
#include "tensor/convert.h"

namespace assay::check {
namespace {

using Values = std::vector<std::int64_t>;

bool is_integer(DType dtype) { return !is_floating(dtype) && dtype != DType::kBool; }

Result<Values> read_values(DType dtype, std::span<const std::byte> bytes) {
  Values values(bytes.size() / size_of(dtype));
  RETURN_IF_ERROR(convert(dtype, bytes, DType::kInt64, std::as_writable_bytes(std::span(values))));
  return values;
}

// change(values) on one input.
template <typename Change>
InputHypothesis changed(std::string name, std::string sentence, const PipelineFacts& facts,
                        std::size_t input, Change change) {
  return {std::move(name), std::move(sentence),
          [dtype = facts.inputs[input].dtype, input, change](SampleInputs inputs) -> Status {
            ASSIGN_OR_RETURN(Values values, read_values(dtype, inputs[input]));
            change(values);
            return convert(DType::kInt64, std::as_bytes(std::span(values)), dtype, inputs[input]);
          }};
}

// Without what the tokenizer puts before and after the words.
Status take_marks_away(const PipelineFacts& facts, std::size_t ids, std::size_t mask,
                       SampleInputs inputs) {
  ASSIGN_OR_RETURN(Values tokens, read_values(facts.inputs[ids].dtype, inputs[ids]));
  ASSIGN_OR_RETURN(Values used, read_values(facts.inputs[mask].dtype, inputs[mask]));
  if (tokens.size() != used.size()) return ok_status();
  const auto length = static_cast<std::size_t>(std::count(used.begin(), used.end(), 1));
  if (length < 3) return ok_status();
  const std::int64_t padding = length < tokens.size() ? tokens[length] : 0;
  std::rotate(tokens.begin(), tokens.begin() + 1, tokens.end());
  for (std::size_t i = length - 2; i < tokens.size(); ++i) tokens[i] = padding;
  std::fill(used.begin() + static_cast<std::ptrdiff_t>(length) - 2, used.end(), 0);
  RETURN_IF_ERROR(convert(DType::kInt64, std::as_bytes(std::span(tokens)), facts.inputs[ids].dtype,
                          inputs[ids]));
  return convert(DType::kInt64, std::as_bytes(std::span(used)), facts.inputs[mask].dtype,
                 inputs[mask]);
}

}  // namespace

void add_text_hypotheses(const PipelineFacts& facts, std::vector<InputHypothesis>& list) {
  if (!facts.text || facts.text->ids >= facts.inputs.size()) return;
  const TextFacts& text = *facts.text;
  if (text.mask) {
    list.push_back(changed(
        "mask_ignored", "the backend seems to ignore the mask: padding counts as text", facts,
        *text.mask, [](Values& values) { std::fill(values.begin(), values.end(), 1); }));
  }
  if (!is_integer(facts.inputs[text.ids].dtype)) return;
  list.push_back(
      changed("ids_shifted_up",
              "the backend seems to get each token's id plus one: another vocabulary file", facts,
              text.ids, [](Values& values) {
                for (std::int64_t& id : values) ++id;
              }));
  list.push_back(
      changed("ids_shifted_down",
              "the backend seems to get each token's id less one: another vocabulary file", facts,
              text.ids, [](Values& values) {
                for (std::int64_t& id : values) id = std::max<std::int64_t>(id - 1, 0);
              }));
  if (text.mask) {
    list.push_back({"no_special_tokens",
                    "the backend seems to get texts without the tokens that begin and end them",
                    [facts, text](SampleInputs inputs) {
                      return take_marks_away(facts, text.ids, *text.mask, inputs);
                    }});
  }
  if (text.segments) {
    list.push_back(changed(
        "segments_one", "the backend seems to take every token for the second text's", facts,
        *text.segments, [](Values& values) { std::fill(values.begin(), values.end(), 1); }));
  }
}

}  // namespace assay::check
