#include "loadgen/closed_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/testing.h"
#include "loadgen/client_loop.h"
#include "loadgen/query_order.h"
#include "loadgen/warmup.h"

namespace assay::loadgen {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

// A warm-up that is over after a few calls, whatever they took.
WarmupRules brief_warmup() {
  return {.floor_calls = 1,
          .floor_ns = 0,
          .cap_ns = 2'000'000,
          .block_calls = 16,
          .block_ns = 100'000,
          .tolerance = 0.02};
}

ClosedLoopSettings brief(std::uint32_t clients, std::uint64_t iterations) {
  ClosedLoopSettings settings;
  settings.clients = clients;
  settings.iterations = iterations;
  settings.exact_iterations = true;
  settings.min_duration_ns = 0;
  settings.warmup = brief_warmup();
  return settings;
}

// Calls a function, and remembers the timed queries that it was asked for.
class FunctionTarget : public Target {
 public:
  using Function = std::function<Status(std::uint32_t client, std::uint64_t query)>;
  explicit FunctionTarget(Function function) : function_(std::move(function)) {}

  Status issue(std::uint32_t client, std::uint64_t query) override {
    if (query < kUntimedQueryBase) {
      const std::scoped_lock lock(mutex_);
      timed_.push_back(query);
    } else {
      untimed_.fetch_add(1);
    }
    return function_(client, query);
  }

  const std::vector<std::uint64_t>& timed() const { return timed_; }
  std::uint64_t untimed() const { return untimed_.load(); }

 private:
  Function function_;
  std::mutex mutex_;
  std::vector<std::uint64_t> timed_;
  std::atomic<std::uint64_t> untimed_{0};
};

Status nothing(std::uint32_t, std::uint64_t) { return {}; }

// Runs a row in memory of its own.
struct Outcome {
  Status status;
  RecordView record;
};

Outcome run(Target& target, const ClosedLoopSettings& settings, std::uint64_t capacity = 10'000,
            std::stop_token stop = {}, ClosedLoopObserver* observer = nullptr) {
  const RecordShape shape{settings.clients, capacity};
  const std::size_t bytes = required_bytes(shape).value();
  auto* const data = new (std::align_val_t{64}) std::byte[bytes];
  Recorder recorder = Recorder::create({data, bytes}, shape).value();
  Outcome outcome;
  outcome.status = run_closed_loop(target, settings, recorder, std::move(stop), observer);
  outcome.record = parse({data, bytes}).value();
  ::operator delete[](data, std::align_val_t{64});
  return outcome;
}

std::uint64_t successes(const RecordView& record) {
  std::uint64_t total = 0;
  for (const ClientRecord& client : record.clients) total += client.successes;
  return total;
}

// A window that repeats another's load claims as that one did, though it has no warm-up to see.
TEST(ClosedLoop, ChunkIsTheOneAskedFor) {
  constexpr std::uint64_t kChunk = 8;
  std::array<std::vector<std::uint64_t>, 2> asked;
  FunctionTarget target([&](std::uint32_t client, std::uint64_t query) {
    if (query < kUntimedQueryBase) asked[client].push_back(query);
    return Status();
  });
  ClosedLoopSettings settings = brief(2, 500);
  settings.exact_iterations = false;
  settings.warmup.floor_calls = 0;
  settings.warmup.cap_ns = 0;
  settings.chunk = kChunk;
  ASSERT_THAT(run(target, settings).status, IsOk());
  for (const std::vector<std::uint64_t>& queries : asked) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      // Whole chunks, each begun at a multiple of its length.
      EXPECT_EQ(queries[i] % kChunk, i % kChunk);
    }
  }
}

TEST(ClosedLoop, ExactIterationsIssuesEachQueryOnce) {
  for (const std::uint32_t clients : {1U, 3U}) {
    FunctionTarget target(nothing);
    const Outcome outcome = run(target, brief(clients, 50));
    ASSERT_THAT(outcome.status, IsOk());
    EXPECT_EQ(outcome.record.state, RecordState::kFinished);
    EXPECT_EQ(outcome.record.end_reason, EndReason::kWorkDone);
    std::vector<std::uint64_t> queries = target.timed();
    std::ranges::sort(queries);
    ASSERT_EQ(queries.size(), 50U * clients);
    for (std::uint64_t i = 0; i < queries.size(); ++i) EXPECT_EQ(queries[i], i);
    EXPECT_EQ(successes(outcome.record), 50U * clients);
  }
}

TEST(ClosedLoop, IterationsAreAFloorThatTheP99FloorRaises) {
  FunctionTarget target(nothing);
  ClosedLoopSettings settings = brief(2, 10);
  settings.exact_iterations = false;
  const Outcome outcome = run(target, settings);
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_GE(successes(outcome.record), 662U);
  EXPECT_EQ(outcome.record.load.planned_calls, 662U);
  EXPECT_EQ(outcome.record.end_reason, EndReason::kWorkDone);
}

TEST(ClosedLoop, MinDurationKeepsTheWindowOpen) {
  FunctionTarget target(nothing);
  ClosedLoopSettings settings = brief(1, 1);
  settings.exact_iterations = false;
  settings.min_duration_ns = 5'000'000;
  const Outcome outcome = run(target, settings);
  EXPECT_GE(outcome.record.window_ns(), 5'000'000);
  EXPECT_EQ(outcome.record.end_reason, EndReason::kWorkDone);
}

TEST(ClosedLoop, MaxDurationEndsTheWindow) {
  FunctionTarget target(nothing);
  ClosedLoopSettings settings = brief(2, 1'000'000'000);
  settings.max_duration_ns = 3'000'000;
  const Outcome outcome = run(target, settings);
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_EQ(outcome.record.end_reason, EndReason::kMaxDuration);
  EXPECT_GE(outcome.record.window_ns(), 3'000'000);
  EXPECT_GT(successes(outcome.record), 0U);
}

TEST(ClosedLoop, WindowEndsWithTheFirstClientThatFindsNoWork) {
  FunctionTarget target(nothing);
  const Outcome outcome = run(target, brief(3, 40));
  std::int64_t first = outcome.record.clients[0].finished_ns;
  for (const ClientRecord& client : outcome.record.clients) {
    first = std::min(first, client.finished_ns);
    for (const Sample& sample : client.samples) {
      EXPECT_GE(sample.start_ns, outcome.record.window_start_ns);
      EXPECT_LE(sample.start_ns, sample.end_ns);
      EXPECT_EQ(sample.start_ns, sample.intended_start_ns);
    }
  }
  EXPECT_EQ(outcome.record.window_end_ns, first);
}

TEST(ClosedLoop, ConcurrencyIsFullWhenTheWindowOpens) {
  // Every client's first timed call waits until all clients are in a timed call: if a client were
  // still outside the loop when the window opened, the others could not use up its work here.
  constexpr std::uint32_t kClients = 4;
  std::barrier together(kClients);
  std::array<std::atomic<bool>, kClients> met{};
  FunctionTarget target([&](std::uint32_t client, std::uint64_t query) {
    if (query < kUntimedQueryBase && !met[client].exchange(true)) together.arrive_and_wait();
    return Status{};
  });
  const Outcome outcome = run(target, brief(kClients, 10));
  ASSERT_THAT(outcome.status, IsOk());
  for (const ClientRecord& client : outcome.record.clients) EXPECT_GE(client.successes, 1U);
}

TEST(ClosedLoop, LooksAtTheBoundarySeeEveryClientInside) {
  // Both clients sleep inside their calls, which leaves even a busy machine to the one that looks.
  FunctionTarget target([](std::uint32_t, std::uint64_t query) {
    if (query < kUntimedQueryBase) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return Status{};
  });
  const Outcome outcome = run(target, brief(2, 100));
  ASSERT_THAT(outcome.status, IsOk());
  const InFlightRecord& looks = outcome.record.in_flight;
  // A look that saw one client inside adds as much to either sum; one that saw both does not.
  EXPECT_GT(looks.sum_of_squares, looks.sum);
  EXPECT_LE(looks.sum, 2 * looks.looks);
}

TEST(ClosedLoop, FailuresAreCountedAndDoNotBecomeSamples) {
  FunctionTarget target([](std::uint32_t, std::uint64_t query) {
    return query < kUntimedQueryBase && query % 5 == 4 ? unavailable("every fifth") : Status{};
  });
  const Outcome outcome = run(target, brief(4, 25));
  ASSERT_THAT(outcome.status, IsOk());
  std::uint64_t failures = 0;
  for (const ClientRecord& client : outcome.record.clients) failures += client.failures;
  EXPECT_EQ(failures, 20U);
  EXPECT_EQ(successes(outcome.record), 80U);
}

TEST(ClosedLoop, StopsAfterTooManyFailures) {
  FunctionTarget target([](std::uint32_t, std::uint64_t query) {
    return query < kUntimedQueryBase ? internal_error("always") : Status{};
  });
  ClosedLoopSettings settings = brief(1, 1000);
  settings.max_failures = 10;
  const Outcome outcome = run(target, settings);
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_EQ(outcome.record.end_reason, EndReason::kTooManyFailures);
  EXPECT_EQ(outcome.record.clients[0].failures, 10U);
  EXPECT_EQ(outcome.record.clients[0].first_failure->text, "always");
}

TEST(ClosedLoop, ATargetThatAlwaysFailsNeverOpensTheWindow) {
  FunctionTarget target([](std::uint32_t, std::uint64_t) { return internal_error("no device"); });
  ClosedLoopSettings settings = brief(2, 10);
  settings.max_failures = 20;
  settings.warmup.cap_ns = 10'000'000'000;
  const Outcome outcome = run(target, settings);
  EXPECT_THAT(outcome.status, StatusIs(StatusCode::kAborted, HasSubstr("no device")));
  EXPECT_EQ(outcome.record.window_start_ns, 0);
  EXPECT_TRUE(target.timed().empty());
  EXPECT_EQ(outcome.record.clients[0].first_failure->code, StatusCode::kInternal);
  EXPECT_GE(outcome.record.warmup.failures, 20U);
}

TEST(ClosedLoop, StopTokenEndsTheWindowAndKeepsWhatWasDone) {
  std::stop_source source;
  FunctionTarget target([&](std::uint32_t, std::uint64_t query) {
    if (query == 30) source.request_stop();
    return Status{};
  });
  const Outcome outcome = run(target, brief(2, 500'000'000), 10'000, source.get_token());
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_EQ(outcome.record.end_reason, EndReason::kStopped);
  EXPECT_GE(successes(outcome.record), 30U);
}

TEST(ClosedLoop, StopTokenInWarmUpIsCancelled) {
  std::stop_source source;
  FunctionTarget target([&](std::uint32_t, std::uint64_t) {
    source.request_stop();
    return Status{};
  });
  ClosedLoopSettings settings = brief(2, 10);
  settings.warmup.floor_ns = settings.warmup.cap_ns = 10'000'000'000;
  const Outcome outcome = run(target, settings, 10, source.get_token());
  EXPECT_THAT(outcome.status, StatusIs(StatusCode::kCancelled, HasSubstr("before the window")));
  EXPECT_TRUE(target.timed().empty());
}

TEST(ClosedLoop, ColdCallComesFirstAndApart) {
  std::atomic<int> calls{0};
  FunctionTarget target([&](std::uint32_t client, std::uint64_t query) {
    const int call = calls.fetch_add(1);
    if (call == 0) {
      EXPECT_EQ(client, 0U);
      EXPECT_EQ(query, kUntimedQueryBase);
      const std::int64_t until = now_ns() + 3'000'000;
      while (now_ns() < until) {
      }
    }
    return Status{};
  });
  ClosedLoopSettings settings = brief(2, 10);
  settings.load_start_ns = now_ns();
  const Outcome outcome = run(target, settings);
  EXPECT_GE(outcome.record.warmup.cold_call_ns, 3'000'000);
  EXPECT_GE(outcome.record.warmup.load_to_first_result_ns, outcome.record.warmup.cold_call_ns);
  for (const Sample& sample : outcome.record.clients[0].samples)
    EXPECT_NE(sample.query, kUntimedQueryBase);
}

TEST(ClosedLoop, TellsItsObserverWhenTheWindowOpensAndCloses) {
  struct Observer : ClosedLoopObserver {
    void window_opened() override { opened_ns = now_ns(); }
    void window_closed() override { closed_ns = now_ns(); }
    std::int64_t opened_ns = 0, closed_ns = 0;
  } observer;
  FunctionTarget target(nothing);
  const Outcome outcome = run(target, brief(1, 10), 100, {}, &observer);
  EXPECT_GE(observer.opened_ns, outcome.record.window_start_ns);
  EXPECT_GE(observer.closed_ns, outcome.record.window_end_ns);
}

TEST(ClosedLoop, RefusesSettingsThatMakeNoSense) {
  FunctionTarget target(nothing);
  const auto refused = [&](const std::function<void(ClosedLoopSettings&)>& spoil,
                           const char* says) {
    ClosedLoopSettings settings = brief(1, 10);
    spoil(settings);
    EXPECT_THAT(run(target, settings).status,
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(says)));
  };
  refused([](auto& s) { s.iterations = 0; }, "iterations");
  refused([](auto& s) { s.max_failures = 0; }, "max_failures");
  refused([](auto& s) { s.max_duration_ns = 0; }, "max_duration");
  refused([](auto& s) { s.min_duration_ns = -1; }, "min_duration");
  refused([](auto& s) { s.warmup.block_calls = 0; }, "warm-up");
  refused([](auto& s) { s.iterations = ~0ULL; }, "iterations");
}

TEST(ClosedLoop, RefusesARecordForOtherClients) {
  const std::size_t bytes = required_bytes({2, 1}).value();
  auto* const data = new (std::align_val_t{64}) std::byte[bytes];
  Recorder recorder = Recorder::create({data, bytes}, {2, 1}).value();
  FunctionTarget target(nothing);
  EXPECT_THAT(run_closed_loop(target, brief(3, 1), recorder, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("the record has 2")));
  ::operator delete[](data, std::align_val_t{64});
}

TEST(Warmup, IsSteadyWhenTwoBlocksAgreeAboveTheFloors) {
  WarmupJudge judge({});
  using Verdict = WarmupJudge::Verdict;
  judge.add_block(100);
  EXPECT_EQ(judge.judge(1000, 600'000'000), Verdict::kGoOn);  // one block only
  judge.add_block(103);
  EXPECT_EQ(judge.judge(1000, 600'000'000), Verdict::kGoOn);  // 3 % apart
  judge.add_block(104);
  EXPECT_EQ(judge.judge(9, 600'000'000), Verdict::kGoOn);     // too few calls
  EXPECT_EQ(judge.judge(1000, 499'999'999), Verdict::kGoOn);  // too early
  EXPECT_EQ(judge.judge(1000, 500'000'000), Verdict::kSteady);
}

TEST(Warmup, CapEndsWhatNeverSettles) {
  WarmupJudge judge({});
  for (int block = 0; block < 10; ++block) judge.add_block(block % 2 == 0 ? 100 : 150);
  EXPECT_EQ(judge.judge(1000, 9'999'999'999), WarmupJudge::Verdict::kGoOn);
  EXPECT_EQ(judge.judge(1000, 10'000'000'000), WarmupJudge::Verdict::kCapped);
}

TEST(Warmup, ABlockNeedsCallsAndTime) {
  const WarmupJudge judge({});
  EXPECT_FALSE(judge.block_complete(15, 1'000'000'000));
  EXPECT_FALSE(judge.block_complete(1'000'000, 99'999'999));
  EXPECT_TRUE(judge.block_complete(16, 100'000'000));
}

TEST(LatencyRing, KeepsTheLatest) {
  const auto ring = std::make_unique<LatencyRing>();
  for (std::int64_t i = 0; i < 5000; ++i) ring->push(i);
  std::vector<double> all;
  ring->copy_from(0, all);
  ASSERT_EQ(all.size(), LatencyRing::kLength);
  EXPECT_EQ(all.front(), 904);  // 5000 - 4096
  std::vector<double> last;
  ring->copy_from(4998, last);
  EXPECT_EQ(last, (std::vector<double>{4998, 4999}));
}

TEST(Chunk, IsAboutTenMicrosecondsOfWork) {
  EXPECT_EQ(chunk_for(0), 256U);
  EXPECT_EQ(chunk_for(100), 100U);
  EXPECT_EQ(chunk_for(9'999), 1U);
  EXPECT_EQ(chunk_for(1e9), 1U);
}

TEST(QueryOrder, UsesEveryInputEquallyOftenInWholePermutations) {
  const QueryOrder order = QueryOrder::shuffled(7, 5);
  EXPECT_EQ(order.length() % 7, 0U);
  EXPECT_GE(order.length(), QueryOrder::kMinimumLength);
  for (std::uint64_t first = 0; first < 70; first += 7) {
    std::set<std::uint32_t> seen;
    for (std::uint64_t i = 0; i < 7; ++i) seen.insert(order.slot(first + i));
    EXPECT_EQ(seen.size(), 7U);
  }
}

TEST(QueryOrder, DependsOnTheSeedAlone) {
  const QueryOrder a = QueryOrder::shuffled(100, 1);
  const QueryOrder same = QueryOrder::shuffled(100, 1);
  const QueryOrder other = QueryOrder::shuffled(100, 2);
  int different = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(a.slot(i), same.slot(i));
    different += a.slot(i) != other.slot(i) ? 1 : 0;
  }
  EXPECT_GT(different, 50);
}

TEST(QueryOrder, ServesNumbersBeyondItsLength) {
  const QueryOrder order = QueryOrder::shuffled(3, 1);
  EXPECT_EQ(order.slot(order.length() + 2), order.slot(2));
  EXPECT_LT(order.slot(kUntimedQueryBase + 5), 3U);
  EXPECT_EQ(QueryOrder::repeated(4).slot(123'456), 4U);
  EXPECT_EQ(QueryOrder::shuffled(0, 1).slot(9), 0U);
}

}  // namespace
}  // namespace assay::loadgen
