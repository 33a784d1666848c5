#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "check/noise_floor.h"
#include "controller/phase.h"
#include "controller/session.h"
#include "controller/stability_cause.h"
#include "controller/steps.h"
#include "dataset/dataset.h"
#include "host/manifest.h"
#include "workload/stability_budget.h"

namespace assay::controller {

// The stability matrix: is the same input always given the same answer? Definitions:
// measurement.md, Stability.
struct StabilityRequest {
  SessionSettings session;
  host::Manifest manifest;
  CompiledModel model;
  CompileRequest compile;                     // to compile again; its folder is replaced
  bool lives_in_process = false;              // what was compiled cannot leave its process
  const dataset::Dataset* dataset = nullptr;  // inputs are drawn from its first `samples`
  std::uint64_t samples = 0;
  std::vector<std::optional<std::size_t>> batch_axes;
  std::vector<std::int64_t> batch_sizes;
  workload::StabilityBudget budget;
  std::uint64_t seed = 0;
  // Whose best class is a label, "" for the first output; none: labels are not looked at.
  std::optional<std::string> class_output;
  // Asked once, when something differs. An output that it does not name is held to bits, and
  // between batch sizes to a fixed tolerance.
  std::function<std::vector<check::NoiseFloor>()> noise_floors;
  // The reference's outputs of the same samples. Without them distinct inputs with one answer are
  // not held against the backend: the model may have no other.
  std::optional<std::filesystem::path> reference_store;
  std::filesystem::path work_folder;  // for artifacts, removed afterwards
};

enum class StabilityVerdict { kNotTested, kBitStable, kWithinNoiseFloor, kUnstable };
std::string_view name_of(StabilityVerdict verdict);  // "not_tested", "bit_stable", ...

struct AxisResult {
  workload::StabilityAxis axis = workload::StabilityAxis::kRepeat;
  std::string unit;  // what n counts, in the plural
  AxisCounts counts;
  StabilityVerdict verdict = StabilityVerdict::kNotTested;
  std::string why;                          // not tested, or what failed
  bool failed = false;                      // a worker or a call
  std::optional<std::size_t> first_sample;  // index into the data set, of the first difference
  std::optional<double> rate_upper_95;      // exact upper limit of the share that differs
  std::string cause;                        // one sentence; "" when nothing differs
};

struct StabilityResult {
  std::vector<AxisResult> axes;
  StabilityVerdict verdict = StabilityVerdict::kNotTested;
  std::uint64_t distinct_inputs = 0;
};

// One phase of many workers. A worker that fails costs its axis, whose reason says so; when the
// first one does, the phase.
PhaseResult<StabilityResult> run_stability(const StabilityRequest& request, RunObserver& observer);

// The exact one-sided upper limit at 95 % of a rate of which `k` of `n` were seen (Clopper and
// Pearson, Biometrika 26 (1934) 404); for k = 0 it is 1 - 0.05^(1/n).
double rate_upper_limit(std::uint64_t k, std::uint64_t n);

}  // namespace assay::controller
