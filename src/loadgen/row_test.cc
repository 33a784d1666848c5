#include "loadgen/row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/testing.h"
#include "loadgen/closed_loop.h"
#include "loadgen/harness.h"
#include "loadgen/random.h"
#include "loadgen/round.h"

namespace assay::loadgen {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kStart = 1'000'000'000;

// What a writer leaves after a round in which client i had these latencies back to back.
RecordView record_of(const std::vector<std::vector<std::int64_t>>& latencies) {
  RecordView record;
  record.shape = {static_cast<std::uint32_t>(latencies.size()), 1'000'000};
  record.state = RecordState::kFinished;
  record.end_reason = EndReason::kWorkDone;
  record.load.max_duration_ns = 60'000'000'000;
  record.warmup = {.cold_call_ns = 5000, .duration_ns = 500'000'000, .calls = 99, .steady = true};
  record.window_start_ns = kStart;
  record.window_end_ns = std::numeric_limits<std::int64_t>::max();
  std::uint64_t query = 0;
  for (const std::vector<std::int64_t>& one : latencies) {
    ClientRecord client;
    std::int64_t now = kStart;
    for (const std::int64_t latency : one) {
      client.samples.push_back({now, now, now + latency, query++});
      now += latency;
      client.sum_ns += static_cast<std::uint64_t>(latency);
    }
    client.successes = one.size();
    client.finished_ns = now;
    record.window_end_ns = std::min(record.window_end_ns, now);
    record.clients.push_back(std::move(client));
  }
  record.load.planned_calls = query;
  const std::uint64_t clients = latencies.size();
  record.in_flight = {
      .looks = 1000, .sum = 1000 * clients, .sum_of_squares = 1000 * clients * clients};
  return record;
}

// n latencies of about `center`, independent of each other.
std::vector<std::int64_t> steady(std::size_t n, std::int64_t center, std::uint64_t seed = 1) {
  Random random(seed);
  std::vector<std::int64_t> values(n);
  for (std::int64_t& value : values) {
    value = center - center / 100 +
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(center / 50)));
  }
  return values;
}

RowInput one_round(RecordView record, std::uint32_t batch_size = 1) {
  RowInput input;
  input.batch_size = batch_size;
  input.clients = static_cast<std::uint32_t>(record.clients.size());
  input.backend_instances = input.clients;
  input.rounds.push_back({.record = std::move(record), .controller = {}, .host = {}});
  return input;
}

PerformanceRow summarized(const RowInput& input) { return summarize(input).value(); }

TEST(Row, RateIsCompletedSamplesOverTheWindowNotTheReciprocalOfALatency) {
  // 1 + 9 + 9 + 9 ms: four batches in 28 ms. Neither 1/min (1000) nor anything rounded.
  const PerformanceRow row =
      summarized(one_round(record_of({{1'000'000, 9'000'000, 9'000'000, 9'000'000}})));
  EXPECT_DOUBLE_EQ(row.qps.value(), 4 / 0.028);
  EXPECT_DOUBLE_EQ(row.latency.mean_ns.value(), 7e6);
  EXPECT_LE(row.qps.value() * row.latency.mean_ns.value() / 1e9, 1.000001);  // one client
}

TEST(Row, RateCountsSamplesOfABatch) {
  for (const std::uint32_t batch : {1U, 3U, 7U}) {
    const PerformanceRow row =
        summarized(one_round(record_of({std::vector<std::int64_t>(10, 1'000'000)}), batch));
    EXPECT_DOUBLE_EQ(row.qps.value(), 1000.0 * batch);
    EXPECT_EQ(row.samples, 10U);
  }
}

TEST(Row, RateOfMicrosecondCallsIsExact) {
  const PerformanceRow row =
      summarized(one_round(record_of({std::vector<std::int64_t>(1000, 2000)})));
  EXPECT_DOUBLE_EQ(row.qps.value(), 500'000);
}

TEST(Row, CallsThatEndAfterTheWindowAreLatenciesButNotRate) {
  // Client 0 is through after 30 us; the last call of client 1 ends later.
  const PerformanceRow row =
      summarized(one_round(record_of({{10'000, 10'000, 10'000}, {20'000, 20'000}})));
  EXPECT_EQ(row.samples, 5U);
  EXPECT_EQ(row.rounds[0].completed_in_window, 4U);
  EXPECT_EQ(row.latency.max_ns, 20'000);
  EXPECT_DOUBLE_EQ(row.qps.value(), 4 / 30e-6);
}

TEST(Row, ACallThatStraddledTheStartCountsInTheRate) {
  RecordView record = record_of({{10'000, 10'000}, {10'000, 10'000}});
  record.clients[1].lead_in_end_ns = kStart + 5;
  EXPECT_EQ(completed_in_window(record), 5U);
  record.clients[1].lead_in_end_ns = record.window_end_ns + 5;
  EXPECT_EQ(completed_in_window(record), 4U);
}

TEST(Row, FailuresMakeItInvalidAndAreNoSamples) {
  RecordView record = record_of({{1000, 1000, 1000, 1000}});
  record.clients[0].failures = 1;
  record.clients[0].first_failure = FailureRecord{4, StatusCode::kUnavailable, "device lost"};
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_FALSE(row.valid);
  EXPECT_EQ(row.failures, 1U);
  EXPECT_EQ(row.samples, 4U);
  EXPECT_THAT(row.reasons,
              ElementsAre("1 of 5 queries failed; the first: UNAVAILABLE: device lost"));
}

TEST(Row, WithNothingSucceededThereIsNoRate) {
  RecordView record = record_of({{}});
  record.window_end_ns = kStart + 1000;
  record.clients[0].failures = 60;
  record.end_reason = EndReason::kTooManyFailures;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_FALSE(row.valid);
  EXPECT_EQ(row.qps, std::nullopt);
  EXPECT_THAT(row.reasons, Contains("no query succeeded"));
  const Json json = to_json(row);
  EXPECT_TRUE(json["qps"].is_null());
  EXPECT_TRUE(json["latency_ns"]["mean"].is_null());
}

TEST(Row, PercentilesBelowTheirFloorAreWithheldWithWhatTheyNeed) {
  const PerformanceRow row = summarized(one_round(record_of({steady(661, 1000)})));
  EXPECT_TRUE(row.latency.percentiles_ns[2].has_value());
  EXPECT_EQ(row.latency.percentiles_ns[3], std::nullopt);
  EXPECT_EQ(row.latency.upper99_ns[3], std::nullopt);
  ASSERT_EQ(row.withheld.size(), 2U);
  EXPECT_EQ(row.withheld[0].name, "p99");
  EXPECT_EQ(row.withheld[0].needed, 662U);
  EXPECT_EQ(row.withheld[0].have, 661U);
  EXPECT_EQ(row.withheld[1].needed, 6636U);
  EXPECT_EQ(queries_missing_for_p99(row), 2U);  // 1 and a tenth
}

TEST(Row, AtTheFloorThePercentileAndItsBoundArePrinted) {
  const std::vector<std::int64_t> latencies = steady(662, 1'000'000);
  std::vector<std::int64_t> sorted = latencies;
  std::ranges::sort(sorted);
  const PerformanceRow row = summarized(one_round(record_of({latencies})));
  EXPECT_EQ(row.latency.percentiles_ns[3], sorted[655]);  // ceil(0.99 * 662) = 656
  EXPECT_EQ(row.latency.upper99_ns[3], sorted[660]);      // X(662 - 1)
  EXPECT_EQ(queries_missing_for_p99(row), 0U);
}

TEST(Row, DependentSamplesCountForFewer) {
  // Runs of twenty equal values: far fewer than 2,000 independent ones.
  std::vector<std::int64_t> latencies;
  for (const std::int64_t value : steady(100, 100'000))
    latencies.insert(latencies.end(), 20, value);
  const PerformanceRow row = summarized(one_round(record_of({latencies})));
  EXPECT_EQ(row.samples, 2000U);
  EXPECT_LT(row.effective_samples, 300U);
  EXPECT_EQ(row.latency.percentiles_ns[3], std::nullopt);
  EXPECT_THAT(row.withheld[0].reason, HasSubstr("2000 that depend on each other"));
  // About as many again for each of the missing ones as the present ones took.
  const double each = 2000.0 / static_cast<double>(row.effective_samples);
  EXPECT_NEAR(static_cast<double>(queries_missing_for_p99(row)),
              1.1 * each * static_cast<double>(662 - row.effective_samples), 1.0);
}

TEST(Row, SaysWhenTimeWasOverBeforeTheFloor) {
  RecordView record = record_of({steady(100, 1000)});
  record.end_reason = EndReason::kMaxDuration;
  record.load.planned_calls = 662;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_TRUE(row.valid);
  EXPECT_THAT(row.notes, Contains(HasSubstr("after 100 of 662 queries")));
  EXPECT_THAT(row.withheld[0].reason, HasSubstr("longest duration was over"));
}

TEST(Row, SaysWhenWarmUpNeverSettled) {
  RecordView record = record_of({steady(100, 1000)});
  record.warmup.steady = false;
  record.warmup.duration_ns = 10'000'000'000;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_TRUE(row.valid);
  EXPECT_THAT(row.notes, ElementsAre("warm-up ended at its cap of 10 s without becoming steady"));
}

TEST(Row, IsStableWhenRoundsAndThirdsAgree) {
  RowInput input = one_round(record_of({steady(900, 100'000, 1)}));
  input.rounds.push_back({record_of({steady(900, 101'000, 2)}), {}, {}});
  input.rounds.push_back({record_of({steady(900, 102'000, 3)}), {}, {}});
  const PerformanceRow row = summarized(input);
  EXPECT_EQ(row.stable, true);
  EXPECT_NEAR(row.cv.value(), 0.0099, 0.001);
  EXPECT_NEAR(row.third_drift.value(), 0, 0.005);
  EXPECT_TRUE(row.intervals.qps->contains(row.qps.value()));
  EXPECT_LT(row.intervals.qps->low, 9850);  // the slowest round's rate is 9,804
}

TEST(Row, IsUnstableWhenRoundsDiffer) {
  RowInput input = one_round(record_of({steady(900, 100'000, 1)}));
  input.rounds.push_back({record_of({steady(900, 110'000, 2)}), {}, {}});
  const PerformanceRow row = summarized(input);
  EXPECT_EQ(row.stable, false);
  EXPECT_GT(row.cv.value(), 0.03);
}

TEST(Row, IsUnstableWhenItSlowsDown) {
  std::vector<std::int64_t> slowing;
  for (std::int64_t i = 0; i < 900; ++i) slowing.push_back(100'000 + 20 * i);
  RowInput input = one_round(record_of({slowing}));
  input.rounds.push_back({record_of({slowing}), {}, {}});
  const PerformanceRow row = summarized(input);
  EXPECT_EQ(row.stable, false);
  EXPECT_NEAR(row.third_drift.value(), 0.117, 0.002);  // 114,990 / 102,990
}

TEST(Row, OneRoundIsNotJudgedForStability) {
  EXPECT_EQ(summarized(one_round(record_of({steady(900, 1000)}))).stable, std::nullopt);
}

TEST(Row, LittleAgainstTheBoundaryVoidsIt) {
  RecordView record = record_of({steady(900, 100'000, 1), steady(900, 100'000, 2)});
  record.in_flight.sum = 1000;  // one in flight on average, two by the stamps
  record.in_flight.sum_of_squares = 1000;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_FALSE(row.valid);
  EXPECT_EQ(row.qps, std::nullopt);
  EXPECT_THAT(row.reasons, ElementsAre(HasSubstr("the boundary saw 1.000")));
}

TEST(Row, CallsThatReturnBeforeTheWorkIsDoneAreFoundByLittle) {
  // Each latency is half of the time that its call takes out of the window.
  RecordView record = record_of({steady(900, 100'000)});
  for (Sample& sample : record.clients[0].samples) sample.end_ns -= 50'000;
  record.clients[0].sum_ns /= 2;
  record.in_flight.sum = 500;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_FALSE(row.valid);
  EXPECT_THAT(row.reasons, Contains(HasSubstr("with 1 clients")));
}

TEST(Row, LittleIsNotHeldAgainstAHandfulOfCalls) {
  // Two clients with one call each, of which one is cut off by the end of the window.
  for (const std::size_t calls : {std::size_t{1}, std::size_t{15}, std::size_t{16}}) {
    RecordView record = record_of(
        {std::vector<std::int64_t>(calls, 10'000), std::vector<std::int64_t>(calls, 10'000)});
    record.in_flight.sum = record.in_flight.sum_of_squares = 1000;  // one of two in flight
    const PerformanceRow row = summarized(one_round(std::move(record)));
    const bool judged = calls >= 16;
    EXPECT_EQ(row.valid, !judged) << calls;
    EXPECT_EQ(row.qps.has_value(), !judged) << calls;
    if (judged) continue;
    EXPECT_THAT(row.notes, Contains(HasSubstr("too few calls to check")));
  }
}

TEST(Row, ABackwardClockVoidsItAndIsClamped) {
  RecordView record = record_of({{1000, 1000, 1000}});
  record.clients[0].samples[1].end_ns = record.clients[0].samples[1].start_ns - 7;
  record.clients[0].negative_latencies = 1;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_FALSE(row.valid);
  EXPECT_EQ(row.latency.min_ns, 0);
  EXPECT_THAT(row.reasons, Contains("1 queries ended before they started"));
}

TEST(Row, ControllerThatSawAnotherWindowVoidsIt) {
  RowInput input = one_round(record_of({steady(900, 100'000)}));
  const std::int64_t end = input.rounds[0].record.window_end_ns;
  input.rounds[0].controller = ControllerWindow{kStart + 40'000'000, end + 3'000'000};
  EXPECT_TRUE(summarized(input).valid);
  input.rounds[0].controller = ControllerWindow{kStart, end + 51'000'000};
  const PerformanceRow row = summarized(input);
  EXPECT_FALSE(row.valid);
  EXPECT_THAT(row.reasons, ElementsAre(HasSubstr("worker and controller disagree")));
}

TEST(Row, AWindowSeenLateOnADisturbedHostIsNoisyAndNotVoid) {
  RowInput input = one_round(record_of({steady(900, 100'000)}));
  const std::int64_t end = input.rounds[0].record.window_end_ns;
  input.rounds[0].controller = ControllerWindow{kStart + 267'000'000, end + 3'000'000};
  input.rounds[0].host = HostWatch{.noise = {"CPU time of other processes"}};
  const PerformanceRow row = summarized(input);
  EXPECT_TRUE(row.valid);
  EXPECT_TRUE(row.noisy);
  EXPECT_THAT(row.notes, Contains(AllOf(HasSubstr("267.0 ms"), HasSubstr("not judged"))));
}

TEST(Row, AWindowThatTheControllerWasNotToldOfIsVoidOnAnyHost) {
  RowInput input = one_round(record_of({steady(900, 100'000)}));
  input.rounds[0].controller = ControllerWindow{kStart, 0};
  input.rounds[0].host = HostWatch{.noise = {"CPU time of other processes"}};
  const PerformanceRow row = summarized(input);
  EXPECT_FALSE(row.valid);
  EXPECT_THAT(row.reasons, ElementsAre(HasSubstr("did not tell")));
}

TEST(Row, AWorkerThatDiedInTheWindowLeavesWhatItDid) {
  RecordView record = record_of({{1000, 2000, 3000}});
  record.window_end_ns = 0;
  record.end_reason = EndReason::kNone;
  record.state = RecordState::kMeasuring;
  record.clients[0].finished_ns = 0;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_FALSE(row.valid);
  EXPECT_EQ(row.qps, std::nullopt);
  EXPECT_EQ(row.samples, 3U);
  EXPECT_DOUBLE_EQ(row.latency.mean_ns.value(), 2000);
  EXPECT_THAT(row.reasons, ElementsAre("the worker ended inside the window, after 3 queries"));
  EXPECT_THAT(row.latency_over_time, Not(IsEmpty()));
}

TEST(Row, AnInterruptedOneIsInvalid) {
  RecordView record = record_of({{1000, 2000, 3000}});
  record.end_reason = EndReason::kStopped;
  record.load.planned_calls = 100;
  EXPECT_THAT(summarized(one_round(std::move(record))).reasons,
              ElementsAre("interrupted after 3 of 100 queries"));
}

TEST(Row, ANoisyHostMarksItButDoesNotHideIt) {
  RowInput input = one_round(record_of({steady(900, 1000)}));
  HostWatch watch;
  watch.noise = {"CPU time of other processes: 25.0 %, accepted is 5.0 %"};
  input.rounds[0].host = watch;
  const PerformanceRow row = summarized(input);
  EXPECT_TRUE(row.noisy);
  EXPECT_TRUE(row.valid);
  EXPECT_THAT(row.notes, ElementsAre(HasSubstr("noisy host: CPU time of other")));
}

TEST(Row, SaysWhenClientsWaitForInstances) {
  RowInput input = one_round(record_of({steady(100, 1000), steady(100, 1000)}));
  input.backend_instances = 1;
  EXPECT_THAT(summarized(input).notes, Contains(HasSubstr("2 clients share 1 backend instance:")));
  input.backend_instances.reset();  // any number of calls at a time
  EXPECT_THAT(summarized(input).notes, IsEmpty());
  EXPECT_TRUE(to_json(summarized(input)).at("backend_instances").is_null());
}

TEST(Row, CountsHistogrammedSamplesInEverything) {
  // 600 exact samples of 1,000 ns, then 400 of 3,000 ns in a bucket and in slices.
  RecordView record = record_of({std::vector<std::int64_t>(600, 1000)});
  ClientRecord& client = record.clients[0];
  record.slice_ns = 100'000;
  client.beyond.assign(RecordBuckets::kBuckets, 0);
  client.beyond[RecordBuckets::bucket(3000)] = 400;
  client.slices.assign(kSliceCount, Slice{});
  for (std::size_t slice = 6; slice < 18; ++slice) client.slices[slice] = {33, 33 * 3000, 3000};
  client.slices[18] = {4, 4 * 3000, 3000};
  client.successes = 1000;
  client.sum_ns += 400 * 3000;
  record.window_end_ns = client.finished_ns = kStart + 1'800'000;
  const PerformanceRow row = summarized(one_round(std::move(record)));
  EXPECT_EQ(row.samples, 1000U);
  EXPECT_DOUBLE_EQ(row.latency.mean_ns.value(), 1800);
  EXPECT_EQ(row.latency.percentiles_ns[0], 1000);
  EXPECT_NEAR(static_cast<double>(row.latency.percentiles_ns[1].value()), 3000, 3000.0 / 256);
  EXPECT_DOUBLE_EQ(row.qps.value(), 1000 / 1.8e-3);
  EXPECT_DOUBLE_EQ(row.histogram_relative_error, 1.0 / 256);
  EXPECT_NEAR(row.third_drift.value(), 2, 0.05);
}

TEST(Row, PlotsAreBoundedAndHoldEverySample) {
  std::vector<std::int64_t> wide;
  for (std::int64_t i = 0; i < 5000; ++i) wide.push_back(1000 + i * i);
  const PerformanceRow row = summarized(one_round(record_of({wide})));
  EXPECT_LE(row.latency_histogram.size(), kMaxHistogramBins);
  EXPECT_LE(row.latency_over_time.size(), kTimePointsPerRound);
  std::uint64_t in_bins = 0;
  for (const HistogramBin& bin : row.latency_histogram) in_bins += bin.count;
  std::uint64_t in_course = 0;
  for (const TimePoint& point : row.latency_over_time) in_course += point.count;
  EXPECT_EQ(in_bins, 5000U);
  EXPECT_EQ(in_course, 5000U);
}

TEST(Row, HarnessShareIsOfAClientsTimePerQuery) {
  RowInput input = one_round(record_of({std::vector<std::int64_t>(100, 1000)}));
  input.harness_overhead_ns = 50;
  EXPECT_NEAR(summarized(input).harness_share.value(), 0.05, 1e-9);
}

TEST(Row, VoidingAfterTheFactTakesTheRateAway) {
  PerformanceRow row = summarized(one_round(record_of({steady(900, 1000)})));
  void_row(row, "outputs drifted");
  EXPECT_FALSE(row.valid);
  EXPECT_EQ(row.qps, std::nullopt);
  EXPECT_THAT(row.reasons, ElementsAre("outputs drifted"));
}

TEST(Row, RepeatedInputThatIsFasterMeansACache) {
  const PerformanceRow unique = summarized(one_round(record_of({steady(900, 100'000)})));
  const PerformanceRow same = summarized(one_round(record_of({steady(900, 95'000)})));
  const PerformanceRow faster = summarized(one_round(record_of({steady(900, 80'000)})));
  EXPECT_FALSE(compare_repeated(unique, same)->cache_suspected);
  EXPECT_TRUE(compare_repeated(unique, faster)->cache_suspected);
  EXPECT_NEAR(compare_repeated(unique, faster)->rate_ratio, 1.25, 0.01);
  PerformanceRow handful = unique;
  handful.samples = 15;
  EXPECT_FALSE(compare_repeated(handful, faster)->cache_suspected);
  PerformanceRow rateless = unique;
  void_row(rateless, "x");
  EXPECT_EQ(compare_repeated(rateless, faster).has_value(), false);
}

TEST(Row, SurvivesWhateverParseAccepts) {
  const RecordShape shape{.clients = 2, .exact_capacity = 8};
  const std::size_t bytes = required_bytes(shape).value();
  auto* const data = new (std::align_val_t{64}) std::byte[bytes];
  const std::uint64_t seed = 4711;
  Random random(seed);
  int accepted = 0;
  for (int round = 0; round < 400; ++round) {
    Recorder recorder = Recorder::create({data, bytes}, shape).value();
    recorder.set_load({.max_duration_ns = 1'000'000});
    recorder.set_window_start(100);
    for (std::uint64_t i = 0; i < 12; ++i) recorder.client(0).add(100, 100, 103, i);
    recorder.set_window_end(200, EndReason::kWorkDone);
    for (int change = 0; change < 3; ++change) {
      // Where the decisions are: the header, the first fields of a client, its samples.
      const std::size_t client = sizeof(RecordHeader);
      const std::size_t from[] = {0, client, client + sizeof(ClientBlock)};
      const std::size_t word = from[random.below(3)] + 8 * random.below(30);
      const std::uint64_t value = random.next() >> random.below(64);
      std::memcpy(data + word, &value, sizeof(value));
    }
    const Result<RecordView> view = parse({data, bytes});
    if (!view.ok()) continue;
    ++accepted;
    const Result<PerformanceRow> row = summarize(one_round(*view));
    ASSERT_THAT(row, IsOk()) << "seed " << seed << " round " << round;
    EXPECT_FALSE(to_json(*row).dump().empty());
  }
  EXPECT_GT(accepted, 10);
  ::operator delete[](data, std::align_val_t{64});
}

TEST(Row, OfARealLoopAgreesWithItself) {
  struct Spin : Target {
    Status issue(std::uint32_t, std::uint64_t) override {
      const std::int64_t until = now_ns() + 20'000;
      while (now_ns() < until) {
      }
      return {};
    }
  } target;
  const RecordShape shape{.clients = 1, .exact_capacity = 2000};
  const std::size_t bytes = required_bytes(shape).value();
  auto* const data = new (std::align_val_t{64}) std::byte[bytes];
  Recorder recorder = Recorder::create({data, bytes}, shape).value();
  ClosedLoopSettings settings;
  settings.iterations = 2000;
  settings.min_duration_ns = 0;
  settings.warmup = {.floor_calls = 10, .floor_ns = 0, .cap_ns = 50'000'000, .block_ns = 1'000'000};
  ASSERT_THAT(run_closed_loop(target, settings, recorder, {}), IsOk());
  const PerformanceRow row = summarized(one_round(parse({data, bytes}).value()));
  ::operator delete[](data, std::align_val_t{64});
  EXPECT_EQ(row.samples, 2000U);
  EXPECT_GE(row.latency.min_ns, 20'000);
  if (!row.valid) {
    // Time lost between calls to other work voids a row, as it should; nothing else may.
    ASSERT_EQ(row.reasons.size(), 1U);
    EXPECT_THAT(row.reasons.front(), HasSubstr("rate times mean latency"));
    GTEST_SKIP() << "this machine was busy: " << row.reasons.front();
  }
  EXPECT_LE(row.qps.value(), 50'000);
  EXPECT_TRUE(row.intervals.qps->contains(row.qps.value()));
}

TEST(Row, RefusesInputThatContradictsItself) {
  EXPECT_THAT(summarize(RowInput{}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no round")));
  RowInput clients = one_round(record_of({{1}}));
  clients.clients = 2;
  EXPECT_THAT(summarize(clients),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a record has 1")));
  EXPECT_THAT(summarize(one_round(record_of({{1}}), 0)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("batch size 0")));
}

TEST(Row, JsonHasTheNamesThatOthersRelyOn) {
  RowInput input = one_round(record_of({steady(900, 1000)}));
  input.rounds.push_back({record_of({steady(900, 1000, 2)}), {}, HostWatch{}});
  const Json json = Json::parse(to_json(summarized(input)).dump());
  for (const char* key :
       {"batch_size", "clients", "backend_instances", "scenario", "qps", "in_flight", "samples",
        "failures", "valid", "reasons", "latency_ns", "upper99", "withheld", "intervals", "warmup",
        "cold_ns", "stable", "latency_histogram", "latency_over_time"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  for (const char* key : {"mean", "min", "p50", "p90", "p95", "p99", "p999", "max"}) {
    EXPECT_TRUE(json["latency_ns"].contains(key)) << key;
  }
  EXPECT_TRUE(json["latency_ns"]["p99"].is_number_integer());
  EXPECT_TRUE(json["latency_ns"]["p999"].is_null());
  EXPECT_EQ(json["withheld"][0]["percentile"], "p999");
  EXPECT_EQ(json["intervals"]["qps"].size(), 2U);
  EXPECT_EQ(json["stable"], true);
  EXPECT_EQ(json["rounds"].size(), 2U);
  EXPECT_EQ(json["host"].size(), 1U);
}

TEST(Harness, OverheadOfTheNullTargetIsPositiveAndContainsItsStamps) {
  NullTarget target;
  const Result<HarnessOverhead> overhead = measure_harness(target);
  ASSERT_THAT(overhead, IsOk());
  EXPECT_GT(overhead->overhead_ns_p50, overhead->stamped_ns_p50);
  EXPECT_GT(overhead->clock_read_ns_p50, 0);
  EXPECT_GE(overhead->queries, 9U * 20'000U);
  EXPECT_TRUE(to_json(*overhead).contains("overhead_ns_p50"));
}

TEST(Harness, AFailingTargetIsAnError) {
  struct Broken : Target {
    Status issue(std::uint32_t, std::uint64_t) override { return internal_error("broken"); }
  } target;
  EXPECT_THAT(measure_harness(target), StatusIs(StatusCode::kAborted, HasSubstr("broken")));
}

}  // namespace
}  // namespace assay::loadgen
