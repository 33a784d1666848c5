#pragma once

// One round's record, taken apart: what summarize() adds up over rounds.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "loadgen/percentile.h"
#include "loadgen/record.h"
#include "loadgen/row.h"
#include "loadgen/statistics.h"

namespace assay::loadgen {

// The exact samples of all clients in the order in which they ended.
std::vector<Sample> samples_by_end(const RecordView& record);

// Latency of a sample; a backward clock counts as 0.
inline std::int64_t latency_ns(const Sample& sample) {
  return elapsed(sample.intended_start_ns, sample.end_ns).ns;
}

// Calls that returned successfully within the window, the one that straddled its start included.
std::uint64_t completed_in_window(const RecordView& record);

// Adds every latency of the round, exact or from the histogram.
void add_latencies(const RecordView& record, std::span<const Sample> by_end, Distribution& into);

// The course of a round in kTimePointsPerRound slices; slices without a call are left out.
std::vector<TimePoint> course_of(const RecordView& record, std::span<const Sample> by_end,
                                 std::uint32_t round);

// The parts of a RoundSummary that one record tells. `loop_overhead_ns` is the loop's own per
// query.
RoundSummary summarize_round(const RecordView& record, std::span<const Sample> by_end,
                             std::uint32_t batch_size, double loop_overhead_ns);

}  // namespace assay::loadgen
