#include "loadgen/harness.h"

#include <algorithm>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "loadgen/closed_loop.h"
#include "loadgen/record.h"
#include "loadgen/statistics.h"

namespace assay::loadgen {
namespace {

constexpr std::uint32_t kRounds = 9;
constexpr std::uint64_t kQueriesPerRound = 20'000;

struct AlignedDelete {
  void operator()(std::byte* data) const {
    ::operator delete[](data, std::align_val_t{kCacheLineBytes});
  }
};

ClosedLoopSettings null_settings() {
  ClosedLoopSettings settings;
  settings.iterations = kQueriesPerRound;
  settings.min_samples = 0;
  settings.min_duration_ns = 0;
  settings.warmup = {.floor_calls = 10,
                     .floor_ns = 1'000'000,
                     .cap_ns = 5'000'000,
                     .block_calls = 16,
                     .block_ns = 500'000,
                     .tolerance = 0.02};
  return settings;
}

}  // namespace

Result<HarnessOverhead> measure_harness(Target& null_target) {
  const RecordShape shape{.clients = 1, .exact_capacity = kQueriesPerRound};
  ASSIGN_OR_RETURN(const std::size_t bytes, required_bytes(shape));
  const std::unique_ptr<std::byte[], AlignedDelete> memory(new (std::align_val_t{kCacheLineBytes})
                                                               std::byte[bytes]);
  std::vector<double> per_query;
  std::vector<double> stamped;
  std::vector<double> clock_reads;
  HarnessOverhead overhead;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(Recorder recorder, Recorder::create({memory.get(), bytes}, shape));
    RETURN_IF_ERROR(run_closed_loop(null_target, null_settings(), recorder, {}));
    ASSIGN_OR_RETURN(const RecordView record, parse({memory.get(), bytes}));
    const ClientRecord& client = record.clients.front();
    if (client.first_failure) return Status(client.first_failure->code, client.first_failure->text);
    const auto queries = static_cast<double>(client.successes);
    per_query.push_back(static_cast<double>(record.window_ns()) / queries);
    stamped.push_back(static_cast<double>(client.sum_ns) / queries);
    clock_reads.push_back(clock_read_cost_ns());
    overhead.queries += client.successes;
  }
  overhead.overhead_ns_p50 = median(per_query);
  overhead.stamped_ns_p50 = median(stamped);
  overhead.clock_read_ns_p50 = median(clock_reads);
  return overhead;
}

Json to_json(const HarnessOverhead& overhead) {
  return {{"overhead_ns_p50", overhead.overhead_ns_p50},
          {"stamped_ns_p50", overhead.stamped_ns_p50},
          {"clock_read_ns_p50", overhead.clock_read_ns_p50},
          {"queries", overhead.queries}};
}

double clock_read_cost_ns(std::uint32_t reads) {
  const std::int64_t start_ns = now_ns();
  std::int64_t end_ns = start_ns;
  for (std::uint32_t i = 0; i < reads; ++i) end_ns = now_ns();
  return static_cast<double>(end_ns - start_ns) / std::max<std::uint32_t>(reads, 1);
}

}  // namespace assay::loadgen
