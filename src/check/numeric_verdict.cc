#include "check/numeric_verdict.h"

#include <fmt/format.h>

#include <utility>

namespace assay::check {
namespace {

NumericVerdict judge_tolerance(const NumericResult& result) {
  if (result.elements > 0 && result.compared == 0) {
    return {Verdict::kNotJudged,
            fmt::format("output \"{}\": no element is finite on both sides", result.output)};
  }
  const double outside = result.outside_tolerance.value_or(0.0);
  const std::string within = is_floating(result.dtype)
                                 ? fmt::format("{} + {} x |reference|", result.atol, result.rtol)
                                 : "0";
  if (outside == 0.0) {
    return {Verdict::kPass,
            fmt::format("output \"{}\": every element is within {}", result.output, within)};
  }
  return {Verdict::kFail, fmt::format("output \"{}\": {:.4g} % of the elements are outside {}",
                                      result.output, 100.0 * outside, within)};
}

// "largest 0.012 and RMSE 0.003; the noise floor is 0.0001 and 2e-05".
std::string figures(const NumericResult& result, const NoiseFloor& floor) {
  const NoiseLevel noise = largest(floor.variations);
  std::string text = fmt::format(
      "largest difference {:.3g} and RMSE {:.3g}; the noise floor is {:.3g} and {:.3g}",
      result.max_abs.value_or(0.0), result.rmse.value_or(0.0), noise.max_abs, noise.rmse);
  if (floor.bound) {
    const NoiseLevel bound = largest(floor.bound->draws);
    text += fmt::format(", computing in {} explains {:.3g} and {:.3g}", floor.bound->precision,
                        bound.max_abs, bound.rmse);
  }
  return text + fmt::format(", up to {} times of which is allowed", kNoiseAllowance);
}

NumericVerdict judge_placement(const NumericResult& result, const NoiseFloor* floor) {
  const std::string output = fmt::format("output \"{}\": ", result.output);
  switch (place(result, floor)) {
    case NoisePlacement::kIdentical:
      // NaN on both sides is equal, and shows nothing.
      if (result.nan_both > 0) return {Verdict::kNotJudged, output + "NaN on both sides"};
      return {Verdict::kPass, output + "every element is the reference's"};
    case NoisePlacement::kInsideFloor:
      return {Verdict::kPass, output + "inside the noise floor: " + figures(result, *floor)};
    case NoisePlacement::kInsidePrecision:
      return {Verdict::kPass,
              output + "inside the bound of its precision: " + figures(result, *floor)};
    case NoisePlacement::kRealError:
      return {Verdict::kFail, output + "a real error: " + figures(result, *floor)};
    case NoisePlacement::kUnknown:
      break;
  }
  if (floor == nullptr) return {Verdict::kNotJudged, output + "no tolerance is named or derived"};
  const char* why = floor->bound ? "rare ties of whole numbers are not told from errors: "
                                 : "the executed precision is not known: ";
  return {Verdict::kNotJudged, output + why + figures(result, *floor)};
}

// Not as combine() has it: one output that is not judged leaves the whole undecided.
int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return 0;
    case Verdict::kNotJudged:
      return 1;
    case Verdict::kInconclusive:
      return 2;
    case Verdict::kFail:
      break;
  }
  return 3;
}

}  // namespace

NumericVerdict judge_numeric(const NumericResult& result, const NumericCriterion& criterion) {
  if (result.nonfinite_mismatches > 0) {
    return {Verdict::kFail,
            fmt::format("output \"{}\": {} of {} elements are NaN or infinite on one side only",
                        result.output, result.nonfinite_mismatches, result.elements)};
  }
  if (criterion.tolerance_named) return judge_tolerance(result);
  return judge_placement(result, find_floor(criterion.floors, result.output));
}

NumericVerdict judge_numeric(const NumericReport& report, const NumericCriterion& criterion) {
  NumericVerdict whole;
  if (report.missing_samples > 0) {
    whole = {Verdict::kInconclusive,
             fmt::format("{} samples have outputs on one side at most", report.missing_samples)};
  }
  for (const NumericResult& result : report.outputs) {
    NumericVerdict part = judge_numeric(result, criterion);
    if (whole.reason.empty() || badness(part.verdict) > badness(whole.verdict)) {
      whole = std::move(part);
    }
  }
  return whole;
}

}  // namespace assay::check
