#pragma once

// The latency record: what the worker writes during a row and the controller reads afterwards, also
// when the worker was killed half-way. It lives in memory that the caller provides (pages owned by
// the controller), has a fixed size, and is plain bytes with a magic number and a version; the
// exact layout is in record_layout.h.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "loadgen/record_layout.h"

namespace assay::loadgen {

struct RecordShape {
  std::uint32_t clients = 1;
  // Samples kept exactly, per client; later ones go to a histogram of 1/128 wide buckets.
  std::uint64_t exact_capacity = 0;
};

inline constexpr std::uint32_t kMaxClients = 4096;
inline constexpr std::uint64_t kMaxExactCapacity = std::uint64_t{1} << 26;

// A capacity that keeps a row's record within about 64 MiB: 2^18 a client, fewer with many clients,
// never below 4,096.
std::uint64_t default_exact_capacity(std::uint32_t clients);

// Bytes that a record of this shape occupies. kInvalidArgument when clients is 0 or above
// kMaxClients, or the capacity above kMaxExactCapacity.
Result<std::size_t> required_bytes(const RecordShape& shape);

// Writes the record of one client. Everything it touches is on cache lines of that client alone.
// enter/leave/add allocate nothing, lock nothing and make no system call.
// Thread rule: one thread at a time per client.
class ClientRecorder {
 public:
  ClientRecorder(ClientBlock* block, Sample* samples, std::uint64_t capacity)
      : block_(block), samples_(samples), capacity_(capacity) {}

  // The call goes in, and comes back: what the count in flight is made of.
  void enter() { step_boundary(); }
  void leave() { step_boundary(); }

  // A query that succeeded. An end before the start is counted and kept as latency 0.
  void add(std::int64_t intended_start_ns, std::int64_t start_ns, std::int64_t end_ns,
           std::uint64_t query) {
    ClientBlock& block = *block_;
    const std::int64_t signed_latency_ns = end_ns - intended_start_ns;
    if (signed_latency_ns < 0) [[unlikely]]
      ++block.negative_latencies;
    const std::int64_t latency_ns = signed_latency_ns < 0 ? 0 : signed_latency_ns;
    const std::uint64_t index = block.successes;
    if (index < capacity_) [[likely]] {
      samples_[index] = {intended_start_ns, start_ns, end_ns, query};
    } else {
      add_beyond_capacity(latency_ns, end_ns);
    }
    block.sum_ns += static_cast<std::uint64_t>(latency_ns);
    if (latency_ns < block.min_ns) block.min_ns = latency_ns;
    if (latency_ns > block.max_ns) block.max_ns = latency_ns;
    // The count goes last, so that a writer that dies here leaves whole samples only.
    std::atomic_ref(block.successes).store(index + 1, std::memory_order_release);
  }

  // Keeps code and text of the first failure; text beyond the field is cut. Not counted: for calls
  // outside the window.
  void note_failure(std::uint64_t query, const Status& status);
  // A query of the window that failed: noted and counted.
  void fail(std::uint64_t query, const Status& status);

  // Before the loop: where the slices of samples beyond the capacity begin.
  void set_window_start(std::int64_t start_ns);
  // The call that straddled the window's start, for the exact count of completions in the window.
  void set_lead_in_end(std::int64_t end_ns);
  // After the loop: when its last call ended, and whether that call failed.
  void finish(std::int64_t end_ns, bool last_call_failed);
  std::int64_t finished_ns() const { return block_->finished_ns; }

 private:
  void step_boundary() {
    const std::uint64_t steps = block_->boundary_steps + 1;
    std::atomic_ref(block_->boundary_steps).store(steps, std::memory_order_relaxed);
  }
  void add_beyond_capacity(std::int64_t latency_ns, std::int64_t end_ns);

  ClientBlock* block_;
  Sample* samples_;
  std::uint64_t capacity_;
};

// What a row did before its window.
struct WarmupRecord {
  std::int64_t cold_call_ns = 0;             // first call, entry to return
  std::int64_t load_to_first_result_ns = 0;  // 0 when the caller gave no load start
  std::int64_t duration_ns = 0;
  std::uint64_t calls = 0;
  std::uint64_t failures = 0;
  bool steady = false;  // false: the cap ended it
  std::int64_t last_median_ns = 0;
  std::int64_t previous_median_ns = 0;
};

// Calls in flight at the boundary, from looks at the entry counters through the window.
struct InFlightRecord {
  std::uint64_t looks = 0;
  std::uint64_t sum = 0;
  std::uint64_t sum_of_squares = 0;
};

// What was asked for, so that a record explains itself.
struct LoadRecord {
  std::uint64_t iterations = 0;
  std::uint64_t min_samples = 0;
  bool exact_iterations = false;
  bool repeat_input = false;
  std::int64_t max_duration_ns = 0;
  std::int64_t min_duration_ns = 0;
  std::uint64_t seed = 0;
  std::uint64_t planned_calls = 0;  // over all clients
};

// The writer's handle on a record: lays it out and hands out the clients' recorders. Owns nothing.
// Thread rule: one thread; the ClientRecorders are for the clients' threads.
class Recorder {
 public:
  // Clears `memory` (which also brings every page in, so that the loop takes no page fault) and
  // writes the header. kInvalidArgument for a bad shape, memory that is too small or not aligned to
  // 64 bytes.
  static Result<Recorder> create(std::span<std::byte> memory, const RecordShape& shape);

  std::uint32_t clients() const;
  ClientRecorder client(std::uint32_t index) const;
  // Calls of this client entered and not yet returned: 0 or 1. Thread-safe.
  std::uint32_t in_flight(std::uint32_t index) const;

  void set_state(RecordState state);
  void set_load(const LoadRecord& load);
  void set_warmup(const WarmupRecord& warmup);
  void set_in_flight(const InFlightRecord& in_flight);
  void set_window_start(std::int64_t start_ns);
  void set_window_end(std::int64_t end_ns, EndReason reason);

 private:
  explicit Recorder(std::span<std::byte> memory) : memory_(memory) {}
  RecordHeader& header() const;
  ClientBlock& block(std::uint32_t index) const;

  std::span<std::byte> memory_;
};

struct FailureRecord {
  std::uint64_t query = 0;
  StatusCode code = StatusCode::kUnknown;
  std::string text;
};

struct ClientRecord {
  std::vector<Sample> samples;  // the exact ones, in the order they ended
  std::uint64_t successes = 0;  // all, exact or not
  std::uint64_t failures = 0;
  std::uint64_t negative_latencies = 0;  // end before start: counted, recorded as 0
  std::uint64_t sum_ns = 0;              // of all latencies
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
  std::vector<std::uint64_t>
      beyond;                    // RecordBuckets counts of samples beyond the capacity; or empty
  std::vector<Slice> slices;     // of the same samples, by end time; or empty
  std::int64_t finished_ns = 0;  // end of the last call; 0 when the loop did not end
  bool last_call_failed = false;
  std::int64_t lead_in_end_ns = 0;  // 0 when there was none
  bool call_in_flight = false;      // the writer stopped inside a call
  std::optional<FailureRecord> first_failure;
};

// A record, read and checked; owns its data, so the memory may go away or change afterwards.
struct RecordView {
  RecordShape shape;
  RecordState state = RecordState::kPrepared;
  EndReason end_reason = EndReason::kNone;
  LoadRecord load;
  WarmupRecord warmup;
  InFlightRecord in_flight;
  std::int64_t window_start_ns = 0;
  std::int64_t window_end_ns = 0;  // 0 when it did not end
  std::int64_t slice_ns = 0;       // width of the clients' slices
  std::vector<ClientRecord> clients;

  std::int64_t window_ns() const { return window_end_ns - window_start_ns; }
};

// Reads a record that nobody writes any more: after the writer finished, or died in any state.
// The bytes are not trusted. kDataLoss, naming the field, for anything that no writer could have
// left; kUnimplemented for another version. Any size and alignment of `memory` is safe.
Result<RecordView> parse(std::span<const std::byte> memory);

// A live look while the writer runs, for progress. Same checks of the header as parse.
struct Progress {
  RecordState state = RecordState::kPrepared;
  std::uint64_t calls_returned = 0;  // successes and failures in the window so far
  std::uint64_t planned_calls = 0;
  std::int64_t window_start_ns = 0;  // 0 before it opens
};
Result<Progress> read_progress(std::span<const std::byte> memory);

}  // namespace assay::loadgen
