#pragma once

#include <filesystem>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace assay::controller {

// What a run's numbers were made from, in a form that others read (--keep_raw). Each appends to
// `kept` an object per file: what it holds and its path relative to the run's folder.

// Every output in a store as a .npy file, a row per sample.
Status keep_outputs(const std::filesystem::path& store, const std::filesystem::path& folder,
                    Json& kept);

// Every latency record, one per round of a row, as a .npy file per client: a row per call in the
// order they ended, {intended start, start, end} on CLOCK_MONOTONIC in nanoseconds, and the number
// of the query. The records are removed.
Status keep_latencies(const std::vector<std::filesystem::path>& records,
                      const std::filesystem::path& folder, Json& kept);

}  // namespace assay::controller
