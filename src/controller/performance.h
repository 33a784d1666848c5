#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "check/outputs_match.h"
#include "controller/inference_pass.h"
#include "controller/phase.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "loadgen/row.h"

namespace assay::controller {

// How the rows of a run are measured. Rows are the batch sizes; each is measured in several rounds,
// every round in a worker of its own, rounds interleaved over rows.
struct PerformanceRequest {
  SessionSettings session;
  host::Manifest manifest;
  CompiledModel model;
  const dataset::Dataset* dataset = nullptr;  // of the inputs that are submitted
  std::uint64_t usable_samples = 0;           // the first so many of it
  std::vector<std::optional<std::size_t>> batch_axes;
  std::vector<std::int64_t> batch_sizes;
  std::uint32_t clients = 1;
  std::uint64_t iterations = 100;
  bool exact_iterations = false;
  std::int64_t max_duration_ns = 60'000'000'000;  // of a row, over its rounds
  std::int64_t min_round_ns = 1'000'000'000;      // a round's window lasts this long at least
  int rounds = 3;
  std::uint64_t seed = 1;
  // Outputs of the accuracy run, by sample of `dataset`; empty: there are none to compare with.
  std::filesystem::path accuracy_store;
  check::MatchOptions match;
  std::uint64_t output_bytes_per_batch = 0;  // as the accuracy run saw, 0 when unknown
  std::int64_t output_bytes_batch_size = 1;  // for this batch size
  std::filesystem::path record_folder;       // raw records of every round go here; empty: nowhere
  double harness_overhead_ns = 0;
};

// Calls into an interpreter, and how long they waited for its lock.
struct InterpreterLock {
  std::uint64_t calls = 0;
  std::int64_t wait_ns = 0;
};

// One row, with all that result.json says about it.
struct MeasuredRow {
  std::int64_t asked_batch_size = 1;
  std::vector<TensorSpec> inputs;  // at the loaded batch size
  bool has_benchmark = false;      // the backend has figures of its own
  loadgen::PerformanceRow row;
  std::optional<check::MatchResult> match;     // none: nothing to compare with
  std::optional<loadgen::RepeatCheck> repeat;  // none: not measured
  std::uint64_t distinct_inputs = 0;
  std::int64_t controller_window_ns = 0;  // over all rounds
  std::int64_t instance_wait_ns = 0;      // over all calls
  std::int64_t conversion_ns = 0;         // over all calls
  std::uint64_t calls = 0;                // all, with warm-up: what the two above are over
  std::optional<InterpreterLock> interpreter_lock;  // of a backend that has one
  // Where the time of all rounds went, apart from starting workers and filling inputs.
  std::int64_t load_ns = 0;
  std::int64_t warmup_ns = 0;
  std::int64_t window_ns = 0;
  std::int64_t repeated_ns = 0;                // windows and warm-up with repeated input
  std::vector<std::filesystem::path> records;  // one per round
  PhaseRecord phase;
};

// Measures all rows. A row that fails is in the list with its phase's outcome; the others go on.
// Stops early, with what was done, when session.stop is set.
std::vector<MeasuredRow> measure_rows(const PerformanceRequest& request, RunObserver& observer);

// What the harness itself costs per query, on the null backend, in a worker: the `harness` object.
Result<JsonValue> measure_harness(const SessionSettings& settings,
                                  const host::Manifest& null_backend);

}  // namespace assay::controller
