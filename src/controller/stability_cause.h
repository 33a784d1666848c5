#pragma once

// What the pattern of differences points to. Pure; internal to controller.

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "check/stability.h"
#include "workload/stability_budget.h"

namespace assay::controller {

// One axis of the stability matrix, as counted.
struct AxisCounts {
  std::uint64_t n = 0;          // independent units: calls, handles, processes, compilations, ...
  std::uint64_t differing = 0;  // of them
  check::CallDifferences calls;
  bool only_last_row = false;  // every differing sample is, or was when it was recorded, the last
};

// All that was seen, and what further experiments said where something differed.
struct StabilityEvidence {
  std::array<AxisCounts, workload::kStabilityAxes> axes;
  bool outputs_all_alike = false;  // distinct inputs gave identical outputs from the beginning

  // Experiments on fresh handles in fresh processes; empty when they were not made.
  std::optional<bool> same_input_agrees;      // one input again and again gives one answer
  std::optional<bool> replay_agrees;          // the same calls in the same order, once more
  std::optional<bool> earlier_input_matters;  // another input in the call before
  std::optional<bool> fresh_memory_matters;   // other bytes in memory that malloc hands out
  std::optional<bool> artifact_consistent;    // an artifact that differs does so in each process

  AxisCounts& of(workload::StabilityAxis axis) { return axes[static_cast<std::size_t>(axis)]; }
  const AxisCounts& of(workload::StabilityAxis axis) const {
    return axes[static_cast<std::size_t>(axis)];
  }
};

// One sentence; "" when the axis has no difference.
std::string suspected_cause(workload::StabilityAxis axis, const StabilityEvidence& evidence);

}  // namespace assay::controller
