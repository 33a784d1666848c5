#pragma once

// The measured loop of one client: what runs between the two clock reads of every query and the
// next.

#include <atomic>
#include <cstdint>
#include <limits>

#include "loadgen/record.h"
#include "loadgen/target.h"

namespace assay::loadgen {

// Shared by the clients of a window. Each member has its own cache line: the counter is written by
// all, close_at_ns is read by all after every call and written once.
struct LoopState {
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> next_query{0};
  // A call that ends at or after this is its client's last. Starts as the window's latest end.
  alignas(kCacheLineBytes) std::atomic<std::int64_t> close_at_ns{
      std::numeric_limits<std::int64_t>::max()};
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> failures{0};
  std::atomic<EndReason> reason{EndReason::kNone};
};

struct LoopLimits {
  std::uint64_t queries = 0;       // to hand out
  bool exact = false;              // not one more
  std::int64_t open_until_ns = 0;  // not exact: work goes on until then, whatever was handed out
  std::uint64_t max_failures = 1;
  // Queries taken from the counter at a time. More than 1 only where a call is so short that the
  // clients would otherwise wait for each other at the counter; what is left of a chunk when the
  // window closes is dropped, so never with `exact`.
  std::uint64_t chunk = 1;
};

// The size of a chunk for calls of this median: about 10 us of work, 1 to 256.
std::uint64_t chunk_for(double median_latency_ns);

// Ends the window for the given reason; the first reason stays.
void close_window(LoopState& state, std::int64_t at_ns, EndReason reason);

// Issues queries for one client until the work, the time or the patience is over, and records each.
// In the loop itself: no allocation, lock or system call but the clock, beyond what the target
// does.
void run_client(Target& target, std::uint32_t client, const LoopLimits& limits, LoopState& state,
                ClientRecorder recorder);

}  // namespace assay::loadgen
