#include "controller/evaluation.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "base/suggest.h"
#include "check/output_store.h"
#include "controller/answer_scores.h"

namespace assay::controller {
namespace {

constexpr std::int64_t kMaxCount = 1 << 16;

// `into` stays where the key is absent.
Status take_count(const Json& metric, const char* key, std::int64_t& into) {
  const auto found = metric.find(key);
  if (found == metric.end()) return ok_status();
  if (found->is_number_integer() && *found >= 1 && *found <= kMaxCount) {
    into = found->get<std::int64_t>();
    return ok_status();
  }
  return invalid_argument(fmt::format("metric.{}: found {}, accepted: a whole number from 1 to {}",
                                      key, found->dump(), kMaxCount));
}

}  // namespace

Result<std::optional<MetricSpec>> parse_metric(const Json& metric) {
  if (metric.is_null()) return std::optional<MetricSpec>();
  MetricSpec spec;
  try {
    spec.name = metric.at("name").get<std::string>();
    spec.output = metric.value("output", "");
    const std::string scores = metric.value("scores", "logits");
    if (scores != "logits" && scores != "probabilities") {
      return invalid_argument(
          fmt::format("metric.scores: \"{}\" is neither \"logits\" nor \"probabilities\"", scores));
    }
    spec.start_output = metric.value("start_output", "");
    spec.end_output = metric.value("end_output", "");
    RETURN_IF_ERROR(take_count(metric, "n_best", spec.span.n_best));
    RETURN_IF_ERROR(take_count(metric, "max_answer_length", spec.span.max_answer_length));
    spec.scores = scores == "logits" ? check::Scores::kLogits : check::Scores::kProbabilities;
  } catch (const Json::exception& error) {
    return invalid_argument(fmt::format("metric: {}", error.what()));
  }
  if (check::find_metric(spec.name) == nullptr) {
    const Result<check::Metric> unknown = check::make_metric(spec.name);
    return unknown.ok() ? internal_error("a metric without a description") : unknown.status();
  }
  return std::optional<MetricSpec>(std::move(spec));
}

Result<check::AccuracyResult> score_store(const std::filesystem::path& store,
                                          const dataset::Dataset& dataset, std::uint64_t samples,
                                          const MetricSpec& metric, std::uint64_t seed) {
  ASSIGN_OR_RETURN(check::OutputReader reader, check::OutputReader::open(store));
  check::MetricOptions options;
  options.scores = metric.scores;
  options.expected_samples = samples;
  options.bootstrap_seed = seed;
  ASSIGN_OR_RETURN(check::Metric accumulator, check::make_metric(metric.name, options));
  if (const check::MetricDescription* found = check::find_metric(metric.name);
      found != nullptr && found->is_of_answers) {
    RETURN_IF_ERROR(score_answers(reader, dataset, samples, metric, accumulator));
    return accumulator.finish();
  }
  std::size_t index = 0;  // the first one, where none is named
  if (!metric.output.empty() || reader.outputs().empty()) {
    ASSIGN_OR_RETURN(index, named_output(reader.outputs(), metric.output));
  }
  for (std::uint64_t i = 0; i < samples; ++i) {
    ASSIGN_OR_RETURN(const dataset::Label label, dataset.label(i));
    const auto* truth = std::get_if<std::int64_t>(&label);
    if (truth == nullptr) {
      return failed_precondition(fmt::format("sample {} has no label", dataset.sample_id(i)));
    }
    ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, reader.output(i, index));
    RETURN_IF_ERROR(accumulator.add(i, {reader.outputs()[index], bytes}, *truth));
  }
  return accumulator.finish();
}

Result<check::NumericReport> compare_outputs(const std::filesystem::path& reference,
                                             const std::filesystem::path& got,
                                             const check::NumericOptions& options) {
  ASSIGN_OR_RETURN(check::OutputReader reference_reader, check::OutputReader::open(reference));
  ASSIGN_OR_RETURN(check::OutputReader got_reader, check::OutputReader::open(got));
  return check::compare_stores(reference_reader, got_reader, options);
}

bool has_truth(const dataset::Dataset& dataset) {
  return dataset.class_count() > 0 || dataset.questions() != nullptr;
}

}  // namespace assay::controller
