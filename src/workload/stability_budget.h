#pragma once

// How much of the stability matrix is run: `--stability quick|standard|deep` or N per axis.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay::workload {

// In the order in which they are run. Source: measurement.md, Stability.
enum class StabilityAxis {
  kRepeat,       // calls on one handle
  kHandle,       // handles made in one process
  kProcess,      // processes that load one artifact
  kCompilation,  // compilations, each run in a process of its own
  kPosition,     // batches with the samples in other places
  kNeighbours,   // batches with other samples around
  kBatchSize,    // batches of other sizes
  kConcurrency,  // calls by several callers at once
  kAfterLoad,    // calls after sustained load
};
inline constexpr std::size_t kStabilityAxes = 9;
std::string_view name_of(StabilityAxis axis);  // "repeat", "handle", "process", "compilation", ...

struct StabilityBudget {
  std::string text = "quick";  // as it was asked for
  std::array<std::uint64_t, kStabilityAxes> n{};
  double axis_seconds = 0;  // no axis begins anything after this long
  double load_seconds = 0;  // of the load before kAfterLoad

  std::uint64_t of(StabilityAxis axis) const { return n[static_cast<std::size_t>(axis)]; }
};

// "quick", "standard", "deep", or "repeat=1000,compilation=20": those axes alone, as often.
// kInvalidArgument names what is accepted.
Result<StabilityBudget> parse_stability_budget(std::string_view text);

}  // namespace assay::workload
