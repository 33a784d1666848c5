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
#include "dataset/text_input.h"
#include "dataset/text_line.h"
#include "dataset/tokenizer.h"

namespace assay::dataset {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kVersion = "text_lines/1";
constexpr std::string_view kEvaluation = "test.tsv";
constexpr std::string_view kCalibration = "calibration.tsv";

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
    TextValues values;
    for (auto& each : values) each.resize(tokenizer_->max_length());
    RETURN_IF_ERROR(tokenizer_->encode(parts.text, values[0], values[1], values[2]));
    return write_text_inputs(inputs_, values, into);
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
  DatasetFacts facts =
      make_facts(source, lines.size(), specs_of(setup.inputs), fingerprint.hex_digest());
  return std::make_unique<TextLines>(std::move(facts), setup.inputs, std::move(lines),
                                     setup.tokenizer, source.request.label_offset);
}

}  // namespace

Result<std::unique_ptr<Dataset>> load_text_lines(const DatasetSource& source) {
  ASSIGN_OR_RETURN(const fs::path path, find_data_file(source, kEvaluation));
  ASSIGN_OR_RETURN(const TextSetup setup, make_text_setup(source));
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
