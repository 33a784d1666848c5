#include "controller/stability_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace assay::controller {
namespace {

using workload::StabilityAxis;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Of all outputs.
double largest(const check::CallDifferences& calls, double check::OutputDifference::* figure) {
  double most = 0.0;
  for (const check::OutputDifference& output : calls.outputs) most = std::max(most, output.*figure);
  return most;
}

// Repeats one axis as this run did it.
std::string axis_command(const workload::RunRequest& request, const AxisResult& axis,
                         std::uint64_t wanted) {
  workload::RunRequest alone = request;
  alone.stability = fmt::format("{}={}", workload::name_of(axis.axis), wanted);
  return workload::command_line(alone);
}

// "repeat, handle: state is kept between calls; position: ...": axes of one cause together.
std::string unstable_axes(const StabilityResult& result) {
  std::vector<std::pair<std::string, std::string>> causes;  // cause, axes
  for (const AxisResult& axis : result.axes) {
    if (axis.verdict != StabilityVerdict::kUnstable) continue;
    const std::string name(workload::name_of(axis.axis));
    const auto same =
        std::ranges::find_if(causes, [&](const auto& cause) { return cause.first == axis.cause; });
    if (same == causes.end()) {
      causes.emplace_back(axis.cause, name);
    } else {
      same->second += ", " + name;
    }
  }
  std::string text;
  for (const auto& [cause, axes] : causes) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", axes, cause);
  }
  return text;
}

std::string plain(StabilityVerdict verdict) {
  std::string text(name_of(verdict));
  std::ranges::replace(text, '_', ' ');
  return text;
}

}  // namespace

Json stability_json(const StabilityResult& result, const workload::Plan& plan,
                    const dataset::Dataset& dataset) {
  Json list = Json::array();
  for (const AxisResult& axis : result.axes) {
    const check::CallDifferences& calls = axis.counts.calls;
    const bool tested = axis.verdict != StabilityVerdict::kNotTested;
    std::uint64_t nonfinite = 0;
    for (const check::OutputDifference& output : calls.outputs) nonfinite += output.nonfinite;
    list.push_back(
        {{"axis", workload::name_of(axis.axis)},
         {"verdict", name_of(axis.verdict)},
         {"unit", axis.unit},
         {"n", axis.counts.n},
         {"differing", tested ? Json(axis.counts.differing) : Json(nullptr)},
         {"calls", calls.calls},
         {"differing_calls", calls.differing},
         {"max_abs",
          tested ? number_or_null(largest(calls, &check::OutputDifference::max_abs)) : Json()},
         {"max_ulp",
          tested ? number_or_null(largest(calls, &check::OutputDifference::max_ulps)) : Json()},
         {"nonfinite", nonfinite},
         {"label_flips", tested ? Json(calls.label_flips) : Json(nullptr)},
         {"first_sample_id",
          axis.first_sample ? Json(dataset.sample_id(*axis.first_sample)) : Json(nullptr)},
         {"first_differing_call", calls.first_differing ? Json(*calls.first_differing) : Json()},
         {"rate_upper_95", axis.rate_upper_95 ? Json(*axis.rate_upper_95) : Json(nullptr)},
         {"suspected_cause", axis.cause.empty() ? Json(nullptr) : Json(axis.cause)},
         {"why", axis.why.empty() ? Json(nullptr) : Json(axis.why)},
         {"command", tested ? Json(axis_command(plan.request, axis, plan.stability.of(axis.axis)))
                            : Json(nullptr)}});
  }
  return list;
}

Criterion stability_criterion(const StabilityResult& result, workload::StabilityCriterion wanted) {
  std::uint64_t tested = 0;
  for (const AxisResult& axis : result.axes) {
    if (axis.verdict != StabilityVerdict::kNotTested) ++tested;
  }
  const std::string detail = unstable_axes(result);
  Criterion criterion{
      "stability", "pass",
      fmt::format("{}; {} of {} axes tested, {} distinct inputs", plain(result.verdict), tested,
                  result.axes.size(), result.distinct_inputs),
      "stable within the noise floor", detail};
  if (wanted == workload::StabilityCriterion::kBitStable) criterion.wanted = "bit-stable";
  if (wanted == workload::StabilityCriterion::kNone) {
    criterion.wanted = "nothing";
    criterion.outcome = "not_judged";
  } else if (tested == 0) {
    criterion.outcome = "inconclusive";
  } else if (result.verdict == StabilityVerdict::kUnstable ||
             (wanted == workload::StabilityCriterion::kBitStable &&
              result.verdict != StabilityVerdict::kBitStable)) {
    criterion.outcome = "fail";
  }
  return criterion;
}

}  // namespace assay::controller
