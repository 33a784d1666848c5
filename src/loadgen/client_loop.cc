#include "loadgen/client_loop.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"

namespace assay::loadgen {
namespace {

constexpr double kChunkNs = 10'000;
constexpr double kMaxChunk = 256;

struct Chunk {
  std::uint64_t next = 0;
  std::uint64_t end = 0;
};

// Takes the next queries from the counter. False: no more work for anyone.
bool claim(const LoopLimits& limits, LoopState& state, std::int64_t now, Chunk& chunk) {
  std::uint64_t first = state.next_query.load(std::memory_order_relaxed);
  do {
    if (first >= limits.queries && (limits.exact || now >= limits.open_until_ns)) return false;
  } while (!state.next_query.compare_exchange_weak(first, first + limits.chunk,
                                                   std::memory_order_relaxed));
  chunk = {first, first + limits.chunk};
  return true;
}

// Off the path of queries that succeed.
[[gnu::noinline]] void record_failure(const LoopLimits& limits, LoopState& state,
                                      ClientRecorder& recorder, std::uint64_t query,
                                      std::int64_t end_ns, const Status& status) {
  recorder.fail(query, status);
  if (state.failures.fetch_add(1, std::memory_order_relaxed) + 1 >= limits.max_failures) {
    close_window(state, end_ns, EndReason::kTooManyFailures);
  }
}

}  // namespace

std::uint64_t chunk_for(double median_latency_ns) {
  return static_cast<std::uint64_t>(
      std::clamp(std::floor(kChunkNs / std::max(median_latency_ns, 1.0)), 1.0, kMaxChunk));
}

void close_window(LoopState& state, std::int64_t at_ns, EndReason reason) {
  EndReason none = EndReason::kNone;
  state.reason.compare_exchange_strong(none, reason, std::memory_order_relaxed);
  std::int64_t close_at = state.close_at_ns.load(std::memory_order_relaxed);
  while (at_ns < close_at &&
         !state.close_at_ns.compare_exchange_weak(close_at, at_ns, std::memory_order_release)) {
  }
}

void run_client(Target& target, std::uint32_t client, const LoopLimits& limits, LoopState& state,
                ClientRecorder recorder) {
  Chunk chunk;
  std::int64_t end_ns = now_ns();
  bool failed = false;
  do {
    if (chunk.next == chunk.end && !claim(limits, state, end_ns, chunk)) {
      close_window(state, end_ns, EndReason::kWorkDone);
      break;
    }
    const std::uint64_t query = chunk.next++;
    const std::int64_t start_ns = now_ns();
    recorder.enter();
    const Status status = target.issue(client, query);
    recorder.leave();
    end_ns = now_ns();
    failed = !status.ok();
    if (failed) [[unlikely]] {
      record_failure(limits, state, recorder, query, end_ns, status);
    } else {
      recorder.add(start_ns, start_ns, end_ns, query);
    }
  } while (end_ns < state.close_at_ns.load(std::memory_order_relaxed));
  // Whoever closed the window gave its reason before the time, so this reading brings the reason
  // too. Where there is none it was the clock.
  (void)state.close_at_ns.load(std::memory_order_acquire);
  close_window(state, end_ns, EndReason::kMaxDuration);
  recorder.finish(end_ns, failed);
}

}  // namespace assay::loadgen
