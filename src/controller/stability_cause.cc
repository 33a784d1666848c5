#include "controller/stability_cause.h"

#include <fmt/format.h>

namespace assay::controller {
namespace {

using workload::StabilityAxis;

// So many calls that agree, and then none any more, are no coincidence.
constexpr std::uint64_t kLongAgreement = 64;

// What the outputs themselves show, whatever the axis.
std::string by_outputs(const check::CallDifferences& calls, const StabilityEvidence& evidence) {
  if (calls.inputs_changed > 0) return "the backend writes into the caller's input";
  if (calls.unwritten > 0) {
    return "part of an output is not written: it holds what the buffer held before the call";
  }
  if (calls.shape_changes > 0) return "the shape of an output changes from call to call";
  if (evidence.outputs_all_alike) {
    return "a result cache that ignores the input: distinct inputs gave identical outputs";
  }
  if (calls.differing > 0 && calls.as_other == calls.differing) {
    if (calls.as_previous == calls.differing) {
      return "the answer of the call before: an output buffer is used again, or read too early";
    }
    return calls.first_differing.value_or(0) >= kLongAgreement
               ? fmt::format(
                     "answers of other inputs from call {} on: calls return without doing "
                     "their work",
                     *calls.first_differing)
               : "answers of other inputs: results are mixed up or cached";
  }
  return "";
}

std::string by_history(const check::CallDifferences& calls, const StabilityEvidence& evidence) {
  if (evidence.fresh_memory_matters.value_or(false) && evidence.replay_agrees.value_or(false)) {
    return "uninitialised memory: answers depend on what malloc's memory held";
  }
  if (calls.first_differing.value_or(0) >= kLongAgreement && calls.agreeing_after_first == 0) {
    return fmt::format("answers change for good after {} calls on a handle",
                       *calls.first_differing);
  }
  if (!evidence.replay_agrees.value_or(true)) {
    return "not reproducible on a fresh handle either: random numbers without a fixed seed, or a "
           "race inside the backend";
  }
  if (evidence.same_input_agrees.value_or(false) &&
      evidence.earlier_input_matters.value_or(false)) {
    return "an input is not waited for: part of the call before's input is still in the device's "
           "buffer (the same input again and again gives one answer)";
  }
  if (evidence.earlier_input_matters.value_or(false)) {
    return "state is kept between calls: an answer depends on the inputs of earlier calls";
  }
  if (evidence.replay_agrees.value_or(false)) {
    return "answers depend on how many calls came before, not on their inputs: a random generator "
           "or counter that begins anew with each handle";
  }
  return "answers change from call to call";
}

std::string by_batch(StabilityAxis axis, const AxisCounts& counts,
                     const StabilityEvidence& evidence) {
  const AxisCounts& neighbours = evidence.of(StabilityAxis::kNeighbours);
  if (counts.only_last_row && (neighbours.differing == 0 || neighbours.only_last_row)) {
    return "the last place of a batch gives another answer";
  }
  if (neighbours.differing > 0) {
    return "samples of a batch leak into each other: an answer depends on its neighbours";
  }
  return axis == StabilityAxis::kPosition ? "an answer depends on its place in the batch"
                                          : "an answer depends on the batch around it";
}

}  // namespace

std::string suspected_cause(StabilityAxis axis, const StabilityEvidence& evidence) {
  const AxisCounts& counts = evidence.of(axis);
  const bool alike = axis == StabilityAxis::kRepeat && evidence.outputs_all_alike;
  if (counts.differing == 0 && counts.calls.inputs_changed == 0 && !alike) return "";
  // One caller that calls again and again shows a pattern most clearly.
  const AxisCounts& repeat = evidence.of(StabilityAxis::kRepeat);
  const bool repeat_differs = repeat.differing > 0;
  for (const check::CallDifferences* calls : {&repeat.calls, &counts.calls}) {
    if (std::string cause = by_outputs(*calls, evidence); !cause.empty()) return cause;
  }
  switch (axis) {
    case StabilityAxis::kRepeat:
      return by_history(counts.calls, evidence);
    case StabilityAxis::kHandle:
    case StabilityAxis::kProcess:
      if (repeat_differs) {
        return by_history(repeat.calls, evidence);
      }
      if (evidence.fresh_memory_matters.value_or(false)) {
        return "uninitialised memory: answers depend on what malloc's memory held";
      }
      return axis == StabilityAxis::kHandle ? "answers differ from load to load of one artifact"
                                            : "answers differ from process to process";
    case StabilityAxis::kCompilation:
      if (repeat_differs) {
        return by_history(repeat.calls, evidence);
      }
      return evidence.artifact_consistent.value_or(true)
                 ? "the compiler is not deterministic: an artifact that differs does so each time "
                   "that it is loaded"
                 : "answers differ from process to process, whatever the artifact";
    case StabilityAxis::kPosition:
    case StabilityAxis::kNeighbours:
      if (repeat_differs) {
        return by_history(repeat.calls, evidence);
      }
      return by_batch(axis, counts, evidence);
    case StabilityAxis::kBatchSize:
      return repeat_differs ? by_history(repeat.calls, evidence)
                            : "another batch size gives other answers than rounding explains";
    case StabilityAxis::kConcurrency:
      return repeat_differs ? by_history(repeat.calls, evidence)
                            : "callers disturb each other: a race when several call at once";
    case StabilityAxis::kAfterLoad:
      break;
  }
  return repeat_differs ? by_history(repeat.calls, evidence)
                        : "answers change under or after sustained load";
}

}  // namespace assay::controller
