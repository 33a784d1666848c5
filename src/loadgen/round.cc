#include "loadgen/round.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace assay::loadgen {
namespace {

std::uint64_t beyond_capacity(const ClientRecord& client) {
  return client.successes - client.samples.size();
}

std::uint64_t completed_by(const ClientRecord& client, std::int64_t start_ns, std::int64_t end_ns) {
  std::uint64_t count = static_cast<std::uint64_t>(std::ranges::count_if(
      client.samples, [end_ns](const Sample& sample) { return sample.end_ns <= end_ns; }));
  if (const std::uint64_t beyond = beyond_capacity(client); beyond > 0) {
    // A client's calls but the last ended before the window did: run_client leaves after the first
    // that does not.
    const bool last_is_outside = client.finished_ns > end_ns && !client.last_call_failed;
    count += beyond - (last_is_outside ? 1 : 0);
  }
  if (client.lead_in_end_ns > start_ns && client.lead_in_end_ns <= end_ns) ++count;
  return count;
}

// A grid of equal slices over the window.
class Course {
 public:
  explicit Course(const RecordView& record)
      : start_ns_(record.window_start_ns), width_ns_(std::max<std::int64_t>(1, length(record))) {}

  void add(std::int64_t end_ns, std::uint64_t count, double sum_ns, std::int64_t max_ns) {
    const std::int64_t slice = std::max<std::int64_t>(end_ns - start_ns_, 0) / width_ns_;
    const auto last = static_cast<std::int64_t>(kTimePointsPerRound) - 1;
    Cell& cell = cells_[static_cast<std::size_t>(std::min(slice, last))];
    cell.count += count;
    cell.sum_ns += sum_ns;
    cell.max_ns = std::max(cell.max_ns, max_ns);
  }

  std::vector<TimePoint> points(std::uint32_t round) const {
    std::vector<TimePoint> points;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const Cell& cell = cells_[i];
      if (cell.count == 0) continue;
      points.push_back({.round = round,
                        .at_ns = static_cast<std::int64_t>(i) * width_ns_ + width_ns_ / 2,
                        .count = cell.count,
                        .mean_ns = cell.sum_ns / static_cast<double>(cell.count),
                        .max_ns = cell.max_ns});
    }
    return points;
  }

 private:
  struct Cell {
    std::uint64_t count = 0;
    double sum_ns = 0;
    std::int64_t max_ns = 0;
  };

  // An unfinished window is as long as its last sample says.
  static std::int64_t length(const RecordView& record) {
    std::int64_t end_ns = record.window_end_ns;
    if (end_ns == 0) {
      for (const ClientRecord& client : record.clients) {
        if (!client.samples.empty()) end_ns = std::max(end_ns, client.samples.back().end_ns);
      }
    }
    const auto points = static_cast<std::int64_t>(kTimePointsPerRound);
    return (std::max(end_ns, record.window_start_ns) - record.window_start_ns) / points + 1;
  }

  std::int64_t start_ns_;
  std::int64_t width_ns_;
  std::array<Cell, kTimePointsPerRound> cells_{};
};

bool has_beyond(const RecordView& record) {
  return std::ranges::any_of(
      record.clients, [](const ClientRecord& client) { return beyond_capacity(client) > 0; });
}

// Thirds of the window's time, from its course: for rounds whose later samples have no order.
std::optional<Thirds> thirds_of_course(std::span<const TimePoint> points, std::int64_t window_ns) {
  double sums[2] = {0, 0};
  double counts[2] = {0, 0};
  for (const TimePoint& point : points) {
    const bool first = point.at_ns * 3 < window_ns;
    if (!first && point.at_ns * 3 < window_ns * 2) continue;
    const auto count = static_cast<double>(point.count);
    sums[first ? 0 : 1] += point.mean_ns * count;
    counts[first ? 0 : 1] += count;
  }
  if (counts[0] == 0 || counts[1] == 0) return std::nullopt;
  return Thirds{.first = sums[0] / counts[0], .last = sums[1] / counts[1]};
}

LittleCheck little_of(const RecordView& record, const RoundSummary& round, std::uint64_t queries,
                      double loop_overhead_ns) {
  LittleInput input{
      .rate_per_s = static_cast<double>(queries) * 1e9 / static_cast<double>(round.window_ns),
      .mean_latency_ns = round.mean_ns.value_or(0),
      .clients = record.shape.clients,
      .completions = queries,
      .looks = record.in_flight.looks,
      .mean_in_flight = 0,
      .deviation_in_flight = 0,
      .loop_overhead_ns = loop_overhead_ns};
  if (input.looks > 0) {
    const auto looks = static_cast<double>(input.looks);
    input.mean_in_flight = static_cast<double>(record.in_flight.sum) / looks;
    const double squares = static_cast<double>(record.in_flight.sum_of_squares) / looks;
    input.deviation_in_flight =
        std::sqrt(std::max(0.0, squares - input.mean_in_flight * input.mean_in_flight));
  }
  return check_little(input);
}

}  // namespace

std::vector<Sample> samples_by_end(const RecordView& record) {
  std::vector<Sample> all;
  for (const ClientRecord& client : record.clients) {
    all.insert(all.end(), client.samples.begin(), client.samples.end());
  }
  std::ranges::sort(all, {}, &Sample::end_ns);
  return all;
}

std::uint64_t completed_in_window(const RecordView& record) {
  std::uint64_t count = 0;
  for (const ClientRecord& client : record.clients) {
    count += completed_by(client, record.window_start_ns, record.window_end_ns);
  }
  return count;
}

void add_latencies(const RecordView& record, std::span<const Sample> by_end, Distribution& into) {
  for (const Sample& sample : by_end) into.add(latency_ns(sample));
  for (const ClientRecord& client : record.clients) {
    for (std::size_t bucket = 0; bucket < client.beyond.size(); ++bucket) {
      into.add(RecordBuckets::value_ns(bucket), client.beyond[bucket]);
    }
  }
}

std::vector<TimePoint> course_of(const RecordView& record, std::span<const Sample> by_end,
                                 std::uint32_t round) {
  Course course(record);
  for (const Sample& sample : by_end) {
    const std::int64_t latency = latency_ns(sample);
    course.add(sample.end_ns, 1, static_cast<double>(latency), latency);
  }
  for (const ClientRecord& client : record.clients) {
    for (std::size_t i = 0; i < client.slices.size(); ++i) {
      const Slice& slice = client.slices[i];
      const std::int64_t middle =
          static_cast<std::int64_t>(i) * record.slice_ns + record.slice_ns / 2;
      course.add(record.window_start_ns + middle, slice.count, static_cast<double>(slice.sum_ns),
                 static_cast<std::int64_t>(slice.max_ns));
    }
  }
  return course.points(round);
}

RoundSummary summarize_round(const RecordView& record, std::span<const Sample> by_end,
                             std::uint32_t batch_size, double loop_overhead_ns) {
  RoundSummary round;
  round.warmup = record.warmup;
  round.end_reason = record.end_reason;
  double sum_ns = 0;
  for (const ClientRecord& client : record.clients) {
    round.samples += client.successes;
    sum_ns += static_cast<double>(client.sum_ns);
  }
  if (round.samples > 0) round.mean_ns = sum_ns / static_cast<double>(round.samples);

  std::vector<std::int64_t> latencies(by_end.size());
  std::ranges::transform(by_end, latencies.begin(), latency_ns);
  round.autocorrelation = autocorrelation(latencies);
  if (round.autocorrelation.found) {
    round.autocorrelation.effective_n = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(static_cast<double>(round.samples) /
                                      round.autocorrelation.integrated_time));
  } else {
    round.autocorrelation.effective_n = round.samples;
  }
  if (record.window_end_ns == 0) return round;

  round.window_ns = record.window_ns();
  round.thirds = has_beyond(record)
                     ? thirds_of_course(course_of(record, by_end, 0), round.window_ns)
                     : thirds(latencies);
  round.completed_in_window = completed_in_window(record);
  if (round.window_ns > 0) {
    round.qps = static_cast<double>(round.completed_in_window) * batch_size * 1e9 /
                static_cast<double>(round.window_ns);
    round.little = little_of(record, round, round.completed_in_window, loop_overhead_ns);
  }
  return round;
}

}  // namespace assay::loadgen
