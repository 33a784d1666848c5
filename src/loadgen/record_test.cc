#include "loadgen/record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/testing.h"
#include "loadgen/random.h"

namespace assay::loadgen {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Bytes on a cache line boundary, as pages are.
class Memory {
 public:
  explicit Memory(std::size_t bytes)
      : data_(new(std::align_val_t{64}) std::byte[bytes]), bytes_(bytes) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::operator delete[](data_, std::align_val_t{64}); }

  std::span<std::byte> span() { return {data_, bytes_}; }
  template <typename T>
  void poke(std::size_t offset, T value) {
    std::memcpy(data_ + offset, &value, sizeof(T));
  }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

std::unique_ptr<Memory> memory_for(const RecordShape& shape) {
  return std::make_unique<Memory>(required_bytes(shape).value());
}

constexpr std::size_t kFirstClient = sizeof(RecordHeader);

TEST(Record, RefusesShapesOutsideTheLimits) {
  EXPECT_THAT(required_bytes({.clients = 0}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("got 0")));
  EXPECT_THAT(required_bytes({.clients = kMaxClients + 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("4097")));
  EXPECT_THAT(required_bytes({.clients = 1, .exact_capacity = kMaxExactCapacity + 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exact_capacity")));
}

TEST(Record, DefaultCapacityKeepsWithinItsBudget) {
  EXPECT_EQ(default_exact_capacity(1), 262'144U);
  EXPECT_EQ(default_exact_capacity(64), 32'768U);
  EXPECT_EQ(default_exact_capacity(4096), 4096U);
}

TEST(Record, RefusesMemoryThatIsSmallOrAskew) {
  const RecordShape shape{2, 10};
  Memory memory(required_bytes(shape).value() + 8);
  EXPECT_THAT(Recorder::create(memory.span().first(100), shape),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("100 bytes")));
  EXPECT_THAT(Recorder::create(memory.span().subspan(8), shape),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("aligned")));
}

TEST(Record, RoundTripsWhatWasWritten) {
  const auto memory = memory_for({2, 4});
  Recorder recorder = Recorder::create(memory->span(), {2, 4}).value();
  recorder.set_load({.iterations = 7,
                     .min_samples = 9,
                     .exact_iterations = true,
                     .repeat_input = false,
                     .max_duration_ns = 1024,
                     .min_duration_ns = 5,
                     .seed = 3,
                     .planned_calls = 14});
  recorder.set_warmup({.cold_call_ns = 11, .calls = 40, .steady = true, .last_median_ns = 12});
  recorder.set_in_flight({.looks = 3, .sum = 5, .sum_of_squares = 9});
  recorder.set_window_start(1000);
  ClientRecorder client = recorder.client(1);
  client.enter();
  client.leave();
  client.add(1000, 1001, 1010, 0);
  client.enter();
  client.leave();
  client.fail(1, unavailable("device went away"));
  client.fail(2, internal_error("a later one"));
  client.finish(1020, true);
  recorder.set_window_end(1020, EndReason::kStopped);
  recorder.set_state(RecordState::kFinished);

  const RecordView view = parse(memory->span()).value();
  EXPECT_EQ(view.shape.clients, 2U);
  EXPECT_EQ(view.state, RecordState::kFinished);
  EXPECT_EQ(view.end_reason, EndReason::kStopped);
  EXPECT_EQ(view.load.iterations, 7U);
  EXPECT_TRUE(view.load.exact_iterations);
  EXPECT_EQ(view.warmup.cold_call_ns, 11);
  EXPECT_TRUE(view.warmup.steady);
  EXPECT_EQ(view.in_flight.sum_of_squares, 9U);
  EXPECT_EQ(view.window_ns(), 20);
  EXPECT_TRUE(view.clients[0].samples.empty());
  const ClientRecord& second = view.clients[1];
  EXPECT_THAT(second.samples, ElementsAre(Sample{1000, 1001, 1010, 0}));
  EXPECT_EQ(second.sum_ns, 10U);  // from the intended start
  EXPECT_EQ(second.min_ns, 10);
  EXPECT_EQ(second.max_ns, 10);
  EXPECT_EQ(second.failures, 2U);
  EXPECT_TRUE(second.last_call_failed);
  EXPECT_FALSE(second.call_in_flight);
  ASSERT_TRUE(second.first_failure.has_value());
  EXPECT_EQ(second.first_failure->query, 1U);
  EXPECT_EQ(second.first_failure->code, StatusCode::kUnavailable);
  EXPECT_EQ(second.first_failure->text, "device went away");
}

TEST(Record, CutsALongFailureText) {
  const auto memory = memory_for({1, 0});
  const Recorder recorder = Recorder::create(memory->span(), {1, 0}).value();
  recorder.client(0).fail(0, internal_error(std::string(10'000, 'x')));
  const RecordView view = parse(memory->span()).value();
  EXPECT_EQ(view.clients[0].first_failure->text, std::string(kFailureTextBytes, 'x'));
}

TEST(Record, CountsWhatIsBeyondTheCapacityInBucketsAndSlices) {
  const auto memory = memory_for({1, 2});
  Recorder recorder = Recorder::create(memory->span(), {1, 2}).value();
  recorder.set_load({.max_duration_ns = 1024 * 8});  // slices of 8 ns
  ClientRecorder client = recorder.client(0);
  client.set_window_start(100);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto start = static_cast<std::int64_t>(100 + 10 * i);
    client.add(start, start, start + 7, i);
  }
  const RecordView view = parse(memory->span()).value();
  const ClientRecord& record = view.clients[0];
  EXPECT_EQ(view.slice_ns, 8);
  EXPECT_EQ(record.successes, 5U);
  EXPECT_EQ(record.samples.size(), 2U);
  EXPECT_EQ(record.beyond[RecordBuckets::bucket(7)], 3U);
  // The last three ended 27, 37 and 47 ns after the start.
  EXPECT_EQ(record.slices[3].count, 1U);
  EXPECT_EQ(record.slices[4].count, 1U);
  EXPECT_EQ(record.slices[5].sum_ns, 7U);
}

TEST(Record, KeepsABackwardClockAsEvidence) {
  const auto memory = memory_for({1, 2});
  const Recorder recorder = Recorder::create(memory->span(), {1, 2}).value();
  ClientRecorder client = recorder.client(0);
  client.add(500, 500, 400, 0);
  const RecordView view = parse(memory->span()).value();
  EXPECT_EQ(view.clients[0].negative_latencies, 1U);
  EXPECT_EQ(view.clients[0].sum_ns, 0U);
  EXPECT_THAT(view.clients[0].samples, ElementsAre(Sample{500, 500, 400, 0}));
}

TEST(Record, ShowsACallThatNeverReturned) {
  const auto memory = memory_for({2, 1});
  const Recorder recorder = Recorder::create(memory->span(), {2, 1}).value();
  ClientRecorder client = recorder.client(1);
  client.enter();
  EXPECT_EQ(recorder.in_flight(0), 0U);
  EXPECT_EQ(recorder.in_flight(1), 1U);
  EXPECT_TRUE(parse(memory->span()).value().clients[1].call_in_flight);
}

TEST(Record, ReadsFromAnyAddressAndWithBytesBehind) {
  const auto memory = memory_for({1, 3});
  const Recorder recorder = Recorder::create(memory->span(), {1, 3}).value();
  ClientRecorder client = recorder.client(0);
  client.add(1, 2, 3, 4);
  std::vector<std::byte> moved(memory->span().size() + 17);
  std::memcpy(moved.data() + 1, memory->span().data(), memory->span().size());
  const Result<RecordView> view = parse(std::span<const std::byte>(moved).subspan(1));
  ASSERT_THAT(view, IsOk());
  EXPECT_THAT(view->clients[0].samples, ElementsAre(Sample{1, 2, 3, 4}));
}

TEST(Record, ProgressCountsReturnedCalls) {
  const auto memory = memory_for({2, 4});
  Recorder recorder = Recorder::create(memory->span(), {2, 4}).value();
  recorder.set_load({.max_duration_ns = 1, .planned_calls = 10});
  recorder.set_state(RecordState::kMeasuring);
  recorder.client(0).add(1, 1, 2, 0);
  recorder.client(1).fail(1, internal_error("x"));
  const Progress progress = read_progress(memory->span()).value();
  EXPECT_EQ(progress.state, RecordState::kMeasuring);
  EXPECT_EQ(progress.calls_returned, 2U);
  EXPECT_EQ(progress.planned_calls, 10U);
}

TEST(RecordParse, NamesWhatIsWrong) {
  struct Case {
    std::size_t offset;
    std::uint64_t value;
    StatusCode code;
    const char* says;
  };
  const Case cases[] = {
      {offsetof(RecordHeader, magic), 0, StatusCode::kDataLoss, "magic"},
      {offsetof(RecordHeader, version), 0x1'0000'0002, StatusCode::kUnimplemented, "version 2"},
      {offsetof(RecordHeader, exact_capacity), ~0ULL, StatusCode::kDataLoss, "exact_capacity"},
      {offsetof(RecordHeader, exact_capacity), 1 << 20, StatusCode::kDataLoss, "contradict"},
      {offsetof(RecordHeader, client_stride_bytes), 0, StatusCode::kDataLoss, "contradict"},
      {offsetof(RecordHeader, state), 9, StatusCode::kDataLoss, "state 9"},
      {offsetof(RecordHeader, window_start_ns), 1ULL << 63, StatusCode::kDataLoss, "window"},
      {kFirstClient + offsetof(ClientBlock, successes), 5, StatusCode::kDataLoss, "beyond"},
      {kFirstClient + offsetof(ClientBlock, successes), ~0ULL, StatusCode::kDataLoss, "any run"},
      {kFirstClient + offsetof(ClientBlock, finished_ns), ~0ULL, StatusCode::kDataLoss, "client 0"},
      {kFirstClient + sizeof(ClientBlock) + offsetof(Sample, end_ns), ~0ULL, StatusCode::kDataLoss,
       "query 4"},
  };
  for (const Case& c : cases) {
    const auto memory = memory_for({1, 2});
    const Recorder recorder = Recorder::create(memory->span(), {1, 2}).value();
    recorder.client(0).add(1, 2, 3, 4);
    memory->poke(c.offset, c.value);
    EXPECT_THAT(parse(memory->span()), StatusIs(c.code, HasSubstr(c.says))) << c.says;
  }
}

TEST(RecordParse, RefusesEveryTruncation) {
  const auto memory = memory_for({2, 2});
  ASSERT_THAT(Recorder::create(memory->span(), {2, 2}), IsOk());
  for (std::size_t bytes = 0; bytes < memory->span().size(); bytes += 61) {
    EXPECT_THAT(parse(memory->span().first(bytes)),
                StatusIs(StatusCode::kDataLoss, HasSubstr("bytes")));
  }
}

TEST(RecordParse, SurvivesRandomBytes) {
  const std::uint64_t seed = 99;
  Random random(seed);
  int accepted = 0;
  for (int round = 0; round < 300; ++round) {
    const auto memory = memory_for({2, 8});
    const Recorder recorder = Recorder::create(memory->span(), {2, 8}).value();
    for (std::uint64_t i = 0; i < 12; ++i) recorder.client(0).add(1, 2, 3, i);
    // A few words of the header and the first fields of a client, where everything is decided.
    for (int change = 0; change < 2; ++change) {
      const std::size_t word = random.below((kFirstClient + 4 * kCacheLineBytes) / 8);
      memory->poke(word * 8, random.next() >> random.below(64));
    }
    const Result<RecordView> view = parse(memory->span());
    accepted += view.ok() ? 1 : 0;
    if (view.ok()) {
      EXPECT_EQ(view->clients.size(), 2U) << "seed " << seed;
    }
  }
  EXPECT_GT(accepted, 0) << "the changes no longer reach behind the header's checks";
  EXPECT_LT(accepted, 300) << "the changes reach nothing that is checked";
}

TEST(Histogram, BucketsTileTheRangeWithinTheStatedError) {
  for (std::size_t bucket = 0; bucket + 1 < RecordBuckets::kBuckets; ++bucket) {
    const std::int64_t low = RecordBuckets::lower_ns(bucket);
    const std::int64_t high = RecordBuckets::upper_ns(bucket);
    ASSERT_LT(low, high);
    ASSERT_EQ(RecordBuckets::bucket(low), bucket);
    ASSERT_EQ(RecordBuckets::bucket(high - 1), bucket);
    ASSERT_EQ(RecordBuckets::bucket(high), bucket + 1);
    const double worst = static_cast<double>(std::max(RecordBuckets::value_ns(bucket) - low,
                                                      high - 1 - RecordBuckets::value_ns(bucket)));
    ASSERT_LE(worst, RecordBuckets::kRelativeError * static_cast<double>(low)) << bucket;
  }
}

TEST(Histogram, ValuesOutsideTheRangeGoToTheEnds) {
  EXPECT_EQ(RecordBuckets::bucket(-5), 0U);
  EXPECT_EQ(RecordBuckets::bucket(RecordBuckets::kLimitNs * 4), RecordBuckets::kBuckets - 1);
}

}  // namespace
}  // namespace assay::loadgen
