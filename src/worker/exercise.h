#pragma once

// Calls a loaded backend again and again with inputs whose outputs are known, under conditions that
// bring hidden faults out. Inside the worker, so that a million calls cost no message.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "check/stability.h"
#include "host/backend.h"
#include "worker/layout.h"

namespace assay::worker {

struct ExerciseSettings {
  std::uint64_t calls = 0;
  std::uint32_t clients = 1;  // callers at once
  std::uint64_t seed = 0;     // of the order and of what buffers hold before a call
  std::int64_t rows = 1;      // samples in a batch
  std::int64_t class_output = -1;
  std::int64_t max_duration_ns = 0;  // no call begins later than this after the first
  // Instead: run every slot twice and leave the second outputs as those expected. What is late by
  // one call is then right.
  bool record = false;
  // The slots to call, again and again, instead of a seeded shuffle of all.
  std::vector<std::uint64_t> order;
};

// Output slot i holds what input slot i must give; behind them each caller has one of its own.
// Every caller hands the backend its own copy of the input, which it compares and overwrites when
// the call is back; buffers for outputs are filled anew, each time with other bytes, before every
// call. An error is a call's own, with its number. `needed_bytes` is set when an output slot is too
// small.
Result<check::CallDifferences> exercise(host::Runtime& runtime, const host::Adaptation& adaptation,
                                        const ArenaLayout& layout, std::span<std::byte> arena,
                                        const ExerciseSettings& settings,
                                        std::size_t& needed_bytes);

}  // namespace assay::worker
