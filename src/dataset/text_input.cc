#include "dataset/text_input.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>
#include <variant>

#include "base/file.h"
#include "tensor/convert.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMaxVocabBytes = 1 << 26;

Result<TextInput> make_input(const TensorSpec& input, std::int64_t max_length) {
  ASSIGN_OR_RETURN(const TextRole role, text_role(input));
  TensorSpec spec{input.name, input.dtype, {1, max_length}};
  if (!matches(spec.shape, input.shape) || is_floating(input.dtype)) {
    return invalid_argument(fmt::format("preprocess gives integers {}, model wants {}",
                                        assay::to_string(spec.shape), to_string(input)));
  }
  return TextInput{std::move(spec), role};
}

}  // namespace

Result<TextSetup> make_text_setup(const DatasetSource& source) {
  const DatasetRequest& request = source.request;
  const auto* const steps = std::get_if<TextPreprocess>(&request.preprocess);
  if (steps == nullptr) {
    return invalid_argument(
        fmt::format("data set {} holds text: model info needs preprocess with tokenizer, vocab and "
                    "max_length",
                    source.name));
  }
  TextSetup setup;
  for (const TensorSpec& input : request.inputs) {
    ASSIGN_OR_RETURN(TextInput made, make_input(input, steps->max_length));
    setup.inputs.push_back(std::move(made));
  }
  ASSIGN_OR_RETURN(const fs::path vocab_path, find_model_file(request, steps->vocab));
  ASSIGN_OR_RETURN(const std::string vocab, read_file(vocab_path, kMaxVocabBytes));
  setup.vocab_digest = sha256_hex(vocab);
  const TokenizerOptions options{steps->lowercase, static_cast<std::size_t>(steps->max_length)};
  const fs::path library = Tokenizer::library_path(request.cache_folder);
  Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::open(library, vocab, options);
  if (tokenizer.status().code() == StatusCode::kNotFound) {
    return missing_data(request, "the tokenizer library " + quoted(library));
  }
  if (!tokenizer.ok()) return tokenizer.status().with_context(quoted(vocab_path));
  setup.tokenizer = std::move(tokenizer).value();
  return setup;
}

std::vector<TensorSpec> specs_of(std::span<const TextInput> inputs) {
  std::vector<TensorSpec> specs;
  for (const TextInput& input : inputs) specs.push_back(input.spec);
  return specs;
}

Status write_text_inputs(std::span<const TextInput> inputs, const TextValues& values,
                         std::span<const std::span<std::byte>> into) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = std::as_bytes(std::span(values[static_cast<std::size_t>(inputs[i].role)]));
    RETURN_IF_ERROR(convert(DType::kInt64, bytes, inputs[i].spec.dtype, into[i]));
  }
  return ok_status();
}

}  // namespace assay::dataset
