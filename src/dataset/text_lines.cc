// Lines "<label><tab><text>", tokenized: the sentiment snippets. calibration.tsv beside them has
// lines of the same form that are not in the evaluation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "dataset/loader.h"
#include "dataset/text_line.h"
#include "dataset/text_role.h"
#include "dataset/tokenizer.h"
#include "tensor/convert.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVersion = "text_lines/1";
constexpr std::string_view kEvaluation = "test.tsv";
constexpr std::string_view kCalibration = "calibration.tsv";
constexpr std::uint64_t kMaxVocabBytes = 1 << 26;

struct TextInput {
  TensorSpec spec;
  TextRole role;
};

Result<TextInput> make_input(const TensorSpec& input, std::int64_t max_length) {
  ASSIGN_OR_RETURN(const TextRole role, text_role(input));
  TensorSpec spec{input.name, input.dtype, {1, max_length}};
  if (!matches(spec.shape, input.shape) || is_floating(input.dtype)) {
    return invalid_argument(fmt::format("preprocess gives integers {}, model wants {}",
                                        assay::to_string(spec.shape), to_string(input)));
  }
  return TextInput{std::move(spec), role};
}

// One file of lines. The file stays on disk; an entry of LineIndex per sample is all that is held.
class TextLines final : public Dataset {
 public:
  TextLines(DatasetFacts facts, std::vector<TextInput> inputs, LineIndex lines,
            std::shared_ptr<const Tokenizer> tokenizer, std::int64_t label_offset)
      : Dataset(std::move(facts)),
        inputs_(std::move(inputs)),
        lines_(std::move(lines)),
        tokenizer_(std::move(tokenizer)),
        label_offset_(label_offset) {}

  std::string sample_id(std::size_t index) const override { return line_id(index); }

  const Dataset* calibration() const override { return calibration_.get(); }
  void set_calibration(std::unique_ptr<Dataset> set) { calibration_ = std::move(set); }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    ASSIGN_OR_RETURN(const std::string line, lines_.read(index));
    ASSIGN_OR_RETURN(const TextLine parts, parse_text_line(line));
    std::array<std::vector<std::int64_t>, kTextRoles> values;
    for (auto& each : values) each.resize(tokenizer_->max_length());
    RETURN_IF_ERROR(tokenizer_->encode(parts.text, values[0], values[1], values[2]));
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto bytes =
          std::as_bytes(std::span(values[static_cast<std::size_t>(inputs_[i].role)]));
      RETURN_IF_ERROR(convert(DType::kInt64, bytes, inputs_[i].spec.dtype, into[i]));
    }
    return ok_status();
  }

  Result<Label> read_label(std::size_t index) const override {
    ASSIGN_OR_RETURN(const std::string line, lines_.read(index));
    ASSIGN_OR_RETURN(const TextLine parts, parse_text_line(line));
    return Label(parts.label + label_offset_);
  }

  std::vector<TextInput> inputs_;
  LineIndex lines_;
  std::shared_ptr<const Tokenizer> tokenizer_;  // shared with the calibration lines
  std::int64_t label_offset_;
  std::unique_ptr<Dataset> calibration_;
};

struct TextSetup {
  std::vector<TextInput> inputs;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::string vocab_digest;
};

Result<TextSetup> make_setup(const DatasetSource& source) {
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

Status check_lines(const DatasetSource& source, const LineIndex& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(const std::string line, lines.read(i));
    const Result<TextLine> parts = parse_text_line(line);
    if (!parts.ok()) {
      return parts.status().with_context(fmt::format("{}: {}", lines.name(), line_id(i)));
    }
    RETURN_IF_ERROR(check_label(source, line_id(i), parts->label));
  }
  return ok_status();
}

Result<std::unique_ptr<TextLines>> load_lines(const DatasetSource& source, const fs::path& path,
                                              const TextSetup& setup) {
  ASSIGN_OR_RETURN(LineIndex lines, LineIndex::open(path));
  if (lines.size() == 0) return no_samples(source);
  RETURN_IF_ERROR(check_lines(source, lines));
  ASSIGN_OR_RETURN(const std::string digest, sha256_of_file(path));
  Fingerprint fingerprint(source, kVersion);
  fingerprint.add("vocab", setup.vocab_digest);
  fingerprint.add("lines", digest);
  std::vector<TensorSpec> specs;
  for (const TextInput& input : setup.inputs) specs.push_back(input.spec);
  DatasetFacts facts = make_facts(source, lines.size(), std::move(specs), fingerprint.hex_digest());
  return std::make_unique<TextLines>(std::move(facts), setup.inputs, std::move(lines),
                                     setup.tokenizer, source.request.label_offset);
}

}  // namespace

Result<std::unique_ptr<Dataset>> load_text_lines(const DatasetSource& source) {
  ASSIGN_OR_RETURN(const fs::path path, find_data_file(source, kEvaluation));
  ASSIGN_OR_RETURN(const TextSetup setup, make_setup(source));
  ASSIGN_OR_RETURN(std::unique_ptr<TextLines> lines, load_lines(source, path, setup));
  const fs::path calibration_path = source.folder / kCalibration;
  std::error_code error;
  if (fs::exists(calibration_path, error)) {
    ASSIGN_OR_RETURN(auto calibration, load_lines(source, calibration_path, setup));
    lines->set_calibration(std::move(calibration));
  }
  return std::unique_ptr<Dataset>(std::move(lines));
}

}  // namespace assay::dataset
