#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>

#include "base/status.h"
#include "loadgen/record.h"
#include "loadgen/target.h"

namespace assay::loadgen {

// Calls until steady: the medians of the last two blocks of at least `block_calls` calls differ by
// less than `tolerance`, not before the floors, not after the cap.
struct WarmupRules {
  std::uint64_t floor_calls = 10;
  std::int64_t floor_ns = 500'000'000;
  std::int64_t cap_ns = 10'000'000'000;
  std::uint64_t block_calls = 16;
  std::int64_t block_ns = 100'000'000;  // a block also lasts this long: 16 calls may be 1 us
  double tolerance = 0.02;
};

struct ClosedLoopSettings {
  std::uint32_t clients = 1;
  std::uint64_t iterations =
      100;  // queries per client: a floor, or with exact_iterations the count
  bool exact_iterations = false;
  // Queries over all clients before the row may end, unless exact_iterations: the p99 floor.
  std::uint64_t min_samples = 662;
  // The window lasts this long at least (max_duration_ns still ends it), unless exact_iterations:
  // fast calls depend on each other, and a floor of independent ones takes more of them.
  std::int64_t min_duration_ns = 500'000'000;
  std::int64_t max_duration_ns = 60'000'000'000;  // the window ends here whatever is missing
  std::uint64_t max_failures = 100;               // the window ends when so many calls failed
  std::uint64_t seed = 1;
  bool repeat_input = false;  // noted in the record; the target's QueryOrder does it
  // Queries that a client claims at once; 0: by the latency that the warm-up saw. For a window that
  // is held against another: both must claim alike.
  std::uint64_t chunk = 0;
  std::optional<std::int64_t> load_start_ns;  // when loading began, for load to first result
  WarmupRules warmup;
};

// Told on the thread that called run_closed_loop, which is not a client: it may send messages.
class ClosedLoopObserver {
 public:
  virtual ~ClosedLoopObserver() = default;
  virtual void window_opened() {}
  virtual void window_closed() {}
};

// One row on `target`: cold call, warm-up, a barrier, then the window. The window opens when every
// client is inside the loop and closes when the first of them finds no more work, so `clients`
// calls are in progress throughout. All work is taken from one counter; the numbers 0, 1, 2, ...
// are the queries. Everything found goes to the recorder, whose shape must have `clients` clients.
//
// Blocks until every call returned: a hung target hangs it, and the owner of the process decides.
// Ok also when queries failed (the record says how many and why). kInvalidArgument: settings that
// make no sense. kCancelled: stopped before the window opened. kAborted: max_failures calls failed
// before the window opened; the first failure's text is in the message.
// Thread rule: one call at a time per recorder.
Status run_closed_loop(Target& target, const ClosedLoopSettings& settings, Recorder& recorder,
                       std::stop_token stop, ClosedLoopObserver* observer = nullptr);

}  // namespace assay::loadgen
