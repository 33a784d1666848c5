#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "check/numeric.h"
#include "check/running_moments.h"

namespace assay::check {
namespace {

std::string list_outputs(const std::vector<TensorSpec>& outputs) {
  std::string text;
  for (const TensorSpec& spec : outputs) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", to_string(spec));
  }
  return text;
}

// For each output of the reference, the index of the backend's output of that name.
Result<std::vector<std::size_t>> pair_by_name(const std::vector<TensorSpec>& reference,
                                              const std::vector<TensorSpec>& got) {
  const Status differ = failed_precondition(fmt::format(
      "reference gives {}; backend gives {}", list_outputs(reference), list_outputs(got)));
  if (reference.size() != got.size()) return differ;
  std::vector<std::size_t> pairs;
  for (const TensorSpec& spec : reference) {
    const auto same_name = [&](const TensorSpec& other) { return other.name == spec.name; };
    const auto found = std::find_if(got.begin(), got.end(), same_name);
    if (found == got.end()) return differ;
    pairs.push_back(static_cast<std::size_t>(found - got.begin()));
  }
  return pairs;
}

// Every output of both stores, sample by sample.
class StoreComparison {
 public:
  StoreComparison(OutputReader& reference, OutputReader& got) : reference_(reference), got_(got) {}

  Status prepare(const NumericOptions& options) {
    if (reference_.identity().dataset_hash != got_.identity().dataset_hash ||
        reference_.sample_count() != got_.sample_count()) {
      return failed_precondition(fmt::format(
          "outputs are not of the same samples: reference has {} of data set {}, backend {} of {}",
          reference_.sample_count(), reference_.identity().dataset_hash, got_.sample_count(),
          got_.identity().dataset_hash));
    }
    ASSIGN_OR_RETURN(pairs_, pair_by_name(reference_.outputs(), got_.outputs()));
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      ASSIGN_OR_RETURN(
          NumericComparison comparison,
          NumericComparison::create(reference_.outputs()[i], got_.outputs()[pairs_[i]], options));
      comparisons_.push_back(std::move(comparison));
    }
    return ok_status();
  }

  Status add(std::uint64_t sample) {
    ASSIGN_OR_RETURN(const bool in_reference, reference_.has(sample));
    ASSIGN_OR_RETURN(const bool in_got, got_.has(sample));
    if (!in_reference || !in_got) {
      ++report_.missing_samples;
      return ok_status();
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      ASSIGN_OR_RETURN(const auto ref, reference_.output(sample, i));
      ASSIGN_OR_RETURN(const auto got, got_.output(sample, pairs_[i]));
      RETURN_IF_ERROR(comparisons_[i].add(sample, ref, got));
    }
    ++report_.samples;
    return ok_status();
  }

  NumericReport finish() {
    for (const NumericComparison& comparison : comparisons_) {
      report_.outputs.push_back(comparison.finish());
    }
    report_.identical = report_.missing_samples == 0 &&
                        std::all_of(report_.outputs.begin(), report_.outputs.end(),
                                    [](const NumericResult& result) { return result.identical; });
    return std::move(report_);
  }

 private:
  // Of the caller, for the length of compare_stores().
  OutputReader& reference_;  // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
  OutputReader& got_;        // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members)
  std::vector<std::size_t> pairs_;
  std::vector<NumericComparison> comparisons_;
  NumericReport report_;
};

Json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json to_json(const WorstSample& worst) {
  return {{"sample_id", worst.sample_id},
          {"element", worst.element},
          {"reference", value_json(worst.reference)},
          {"got", value_json(worst.got)},
          {"max_abs", number(worst.max_abs)},
          {"nonfinite_mismatches", worst.nonfinite_mismatches}};
}

Json to_json(const std::optional<UlpDistance>& ulp) {
  if (!ulp) return nullptr;
  return {{"unit", name_of(ulp->unit)},
          {"p50", number(ulp->p50)},
          {"p99", number(ulp->p99)},
          {"max", number(ulp->max)}};
}

Json histograms_json(const NumericResult& result) {
  const SignedHistogram& signed_difference = result.signed_difference;
  const MagnitudeHistogram& magnitude = result.magnitude;
  return {{"signed_difference",
           {{"low", signed_difference.low},
            {"step", signed_difference.step},
            {"counts", signed_difference.counts}}},
          {"abs_difference",
           {{"low_exponent", magnitude.low_exponent},
            {"zeros", magnitude.zeros},
            {"counts", magnitude.counts}}}};
}

}  // namespace

Result<NumericReport> compare_stores(OutputReader& reference, OutputReader& got,
                                     const NumericOptions& options) {
  StoreComparison comparison(reference, got);
  RETURN_IF_ERROR(comparison.prepare(options));
  for (std::uint64_t sample = 0; sample < reference.sample_count(); ++sample) {
    RETURN_IF_ERROR(comparison.add(sample));
  }
  NumericReport report = comparison.finish();
  if (report.samples == 0) return failed_precondition("no sample has outputs on both sides");
  return report;
}

Json value_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

Json to_json(const NumericResult& result) {
  Json json = {{"output", result.output},
               {"reference_dtype", name_of(result.reference_dtype)},
               {"dtype", name_of(result.dtype)},
               {"shape", result.shape},
               {"samples", result.samples},
               {"samples_differing", result.samples_differing},
               {"elements", result.elements},
               {"compared", result.compared},
               {"differing", result.differing},
               {"identical", result.identical},
               {"max_abs", number(result.max_abs)},
               {"mean_abs", number(result.mean_abs)},
               {"std_abs", number(result.std_abs)},
               {"mean_signed", number(result.mean_signed)},
               {"rmse", number(result.rmse)},
               {"relative_elements", result.relative_elements},
               {"max_rel", number(result.max_rel)},
               {"mean_rel", number(result.mean_rel)},
               {"cosine", number(result.cosine)},
               {"min_sample_cosine", number(result.min_sample_cosine)},
               {"snr_db", number(result.snr_db)},
               {"snr_infinite", result.identical && result.compared > 0},
               {"ulp", to_json(result.ulp)},
               {"nonfinite_mismatches", result.nonfinite_mismatches},
               {"nan_both", result.nan_both},
               {"inf_both", result.inf_both},
               {"outside_tolerance", number(result.outside_tolerance)},
               {"atol", result.atol},
               {"rtol", result.rtol},
               {"top1_agreement", number(result.top1_agreement)},
               {"top5_agreement", number(result.top5_agreement)},
               {"worst", Json::array()},
               {"histograms", histograms_json(result)}};
  for (const WorstSample& worst : result.worst) json["worst"].push_back(to_json(worst));
  return json;
}

Json legacy_difference(const std::vector<NumericResult>& outputs) {
  RunningMoments moments;
  CompensatedSum relative;
  double relative_elements = 0.0;
  double max_abs = 0.0;
  double max_rel = 0.0;
  bool any = false;
  for (const NumericResult& result : outputs) {
    const auto relatives = static_cast<double>(result.relative_elements);
    relative.add(result.mean_rel.value_or(0.0) * relatives);
    relative_elements += relatives;
    max_rel = std::fmax(max_rel, result.max_rel.value_or(0.0));
    if (!result.max_abs || !result.mean_abs || !result.std_abs) continue;
    any = true;
    const auto n = static_cast<double>(result.compared);
    moments.merge(n, *result.mean_abs, *result.std_abs * *result.std_abs * n);
    max_abs = std::fmax(max_abs, *result.max_abs);
  }
  const auto when = [](bool defined, double value) {
    return number(defined ? std::optional(value) : std::nullopt);
  };
  return {{"Mean Diff", when(any, moments.mean())},
          {"Std Diff", when(any, std::sqrt(moments.variance()))},
          {"Max Diff", when(any, max_abs)},
          {"Max Rel-Diff", when(relative_elements > 0, max_rel)},
          {"Mean Rel-Diff", when(relative_elements > 0, relative.value() / relative_elements)}};
}

}  // namespace assay::check
