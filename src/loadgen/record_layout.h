#pragma once

// The bytes of a latency record, version 1, native byte order:
//   RecordHeader, then per client: ClientBlock, then exact_capacity Samples.
// Every client's part starts on a cache line. Two processes of one build share it, and --keep_raw
// writes it to a file, so a change of layout is a change of kRecordVersion.

#include <array>
#include <cstddef>
#include <cstdint>

#include "loadgen/histogram.h"

namespace assay::loadgen {

inline constexpr std::uint64_t kRecordMagic = 0x3143'4552'5941'5341;  // "ASAYREC1"
inline constexpr std::uint32_t kRecordVersion = 1;
inline constexpr std::size_t kCacheLineBytes = 64;
inline constexpr std::size_t kSliceCount = 1024;
inline constexpr std::size_t kFailureTextBytes = 232;

// One successful query. For a closed loop the two starts are the same; for an open one the intended
// start is the schedule's. Latency is end - intended start. All CLOCK_MONOTONIC.
struct Sample {
  std::int64_t intended_start_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t query = 0;

  friend bool operator==(const Sample&, const Sample&) = default;
};

// How far a row got.
enum class RecordState : std::uint32_t { kPrepared, kWarmingUp, kMeasuring, kFinished };

// Why the window ended.
enum class EndReason : std::uint32_t {
  kNone,             // it did not: the writer was stopped from outside, or never opened it
  kWorkDone,         // every iteration asked for was done
  kMaxDuration,      // max_duration was over first
  kTooManyFailures,  // max_failures was reached
  kStopped,          // the stop token
};

// A slice of the window: the samples beyond the exact capacity that ended in it.
struct Slice {
  std::uint64_t count = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t max_ns = 0;
};

struct alignas(kCacheLineBytes) RecordHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t clients;
  std::uint64_t exact_capacity;
  std::uint64_t client_stride_bytes;
  std::uint64_t total_bytes;
  std::uint32_t state;       // RecordState
  std::uint32_t end_reason;  // EndReason
  std::int64_t window_start_ns;
  std::int64_t window_end_ns;
  // what was asked for
  std::uint64_t iterations;
  std::uint64_t min_samples;
  std::uint32_t exact_iterations;
  std::uint32_t repeat_input;
  std::int64_t max_duration_ns;
  std::int64_t min_duration_ns;
  std::uint64_t seed;
  std::uint64_t planned_calls;
  std::int64_t slice_ns;
  // what came before the window
  std::int64_t cold_call_ns;
  std::int64_t load_to_first_result_ns;
  std::int64_t warmup_duration_ns;
  std::uint64_t warmup_calls;
  std::uint64_t warmup_failures;
  std::int64_t warmup_last_median_ns;
  std::int64_t warmup_previous_median_ns;
  std::uint64_t warmup_steady;
  // looks at the clients' boundary_steps through the window
  std::uint64_t in_flight_looks;
  std::uint64_t in_flight_sum;
  std::uint64_t in_flight_sum_of_squares;
};

struct alignas(kCacheLineBytes) ClientBlock {
  // Touched by every call: one cache line, this client's alone.
  std::uint64_t boundary_steps;  // +1 on entry, +1 on return: odd means inside a call
  std::uint64_t successes;
  std::uint64_t failures;
  std::uint64_t negative_latencies;
  std::uint64_t sum_ns;
  std::int64_t min_ns;
  std::int64_t max_ns;
  std::int64_t finished_ns;
  // Once, or seldom.
  std::int64_t lead_in_end_ns;
  std::int64_t slices_start_ns;
  std::uint64_t slice_log2;  // slices are 2^this nanoseconds wide
  std::uint64_t first_failure_query;
  std::uint32_t last_call_failed;
  std::int32_t first_failure_code;
  std::uint32_t first_failure_bytes;  // length of the text, at most kFailureTextBytes
  std::uint32_t has_failure;
  std::array<char, kFailureTextBytes> first_failure_text;
  std::array<std::uint64_t, RecordBuckets::kBuckets> beyond;
  std::array<Slice, kSliceCount> slices;
};

static_assert(sizeof(Sample) == 32);
static_assert(offsetof(ClientBlock, lead_in_end_ns) == kCacheLineBytes);

}  // namespace assay::loadgen
