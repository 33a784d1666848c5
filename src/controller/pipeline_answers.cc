#include "controller/pipeline_answers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "check/elements.h"
#include "check/output_store.h"

namespace assay::controller {
namespace {

constexpr std::size_t kFewestValues = 16;

std::optional<std::size_t> index_by_name(const std::vector<TensorSpec>& specs,
                                         const std::string& name) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == name) return i;
  }
  return std::nullopt;
}

// One row of values per sample: [1, K], [K] or a single value.
bool is_one_row(const TensorSpec& spec) {
  const Result<std::int64_t> elements = element_count(spec.shape);
  if (!elements.ok()) return false;
  return *elements == 1 || (!spec.shape.empty() && *elements == spec.shape.back());
}

// The output that the metric scores; without a metric the only one that could be scores.
std::optional<std::size_t> score_output(const std::vector<TensorSpec>& specs,
                                        const std::optional<MetricSpec>& metric) {
  std::optional<std::size_t> found;
  if (metric && !metric->output.empty()) {
    found = index_by_name(specs, metric->output);
  } else if (!specs.empty() && (metric || specs.size() == 1)) {
    found = 0;
  }
  return found && is_one_row(specs[*found]) ? found : std::nullopt;
}

}  // namespace

Result<ProbedOutputs> probed_outputs(const std::filesystem::path& reference,
                                     const std::filesystem::path& tested,
                                     const std::optional<MetricSpec>& metric) {
  ASSIGN_OR_RETURN(const check::OutputReader wanted, check::OutputReader::open(reference));
  ASSIGN_OR_RETURN(const check::OutputReader got, check::OutputReader::open(tested));
  ProbedOutputs outputs;
  for (const TensorSpec& spec : wanted.outputs()) {
    const auto other = index_by_name(got.outputs(), spec.name);
    if (!other || !is_floating(spec.dtype)) continue;
    if (!is_floating(got.outputs()[*other].dtype) || got.outputs()[*other].shape != spec.shape) {
      continue;
    }
    ASSIGN_OR_RETURN(const std::int64_t elements, element_count(spec.shape));
    outputs.values += static_cast<std::size_t>(elements);
    outputs.specs.push_back(spec);
  }
  outputs.scores = score_output(outputs.specs, metric);
  return outputs;
}

bool can_tell(const ProbedOutputs& outputs, std::size_t samples) {
  return samples * outputs.values >= kFewestValues;
}

Result<std::vector<check::Answers>> read_answers(const std::filesystem::path& store,
                                                 const ProbedOutputs& outputs,
                                                 std::span<const std::size_t> samples) {
  ASSIGN_OR_RETURN(check::OutputReader reader, check::OutputReader::open(store));
  std::vector<check::Answers> answers;
  for (const TensorSpec& spec : outputs.specs) {
    const auto index = index_by_name(reader.outputs(), spec.name);
    if (!index) return not_found("no output \"" + spec.name + "\" in " + store.string());
    ASSIGN_OR_RETURN(const std::int64_t elements, element_count(spec.shape));
    check::Answers read{samples.size(), static_cast<std::size_t>(elements), {}};
    read.values.resize(read.samples * read.width);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      ASSIGN_OR_RETURN(const auto bytes, reader.output(samples[s], *index));
      if (bytes.size() != read.width * size_of(reader.outputs()[*index].dtype)) {
        return internal_error("output \"" + spec.name + "\" has another size than the reference's");
      }
      check::load_doubles(reader.outputs()[*index].dtype, bytes, read.row(s).data());
    }
    answers.push_back(std::move(read));
  }
  return answers;
}

check::RowValues row_values(const check::Answers& reference,
                            const std::optional<MetricSpec>& metric) {
  if (metric) {
    return metric->scores == check::Scores::kLogits ? check::RowValues::kLogits
                                                    : check::RowValues::kProbabilities;
  }
  for (std::size_t s = 0; s < reference.samples; ++s) {
    const auto row = reference.row(s);
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    const auto [least, most] = std::minmax_element(row.begin(), row.end());
    const bool adds_up = row.size() == 1 || std::abs(sum - 1) < 1e-3;
    if (*least < 0 || *most > 1 || !adds_up) return check::RowValues::kLogits;
  }
  return check::RowValues::kProbabilities;
}

check::Answers predicted_answers(const check::Answers& reference,
                                 const check::OutputHypothesis& hypothesis) {
  check::Answers predicted = reference;
  for (std::size_t s = 0; s < predicted.samples; ++s) hypothesis.change(predicted.row(s));
  return predicted;
}

check::Answers without_offset(check::Answers answers) {
  for (std::size_t s = 0; s < answers.samples; ++s) {
    const auto row = answers.row(s);
    const double mean =
        std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
    for (double& value : row) value -= mean;
  }
  return answers;
}

}  // namespace assay::controller
