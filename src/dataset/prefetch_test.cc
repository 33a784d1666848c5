#include "dataset/prefetch.h"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "base/testing.h"

namespace assay::dataset {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Sample i is [2, 2] of i*10 + position; samples named in `bad` fail.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::size_t size, std::set<std::size_t> bad = {})
      : Dataset({"numbers", size, {{"x", DType::kInt32, {1, 2, 2}}}, 0, "f"}),
        bad_(std::move(bad)) {}

  std::string sample_id(std::size_t index) const override { return "n" + std::to_string(index); }

 private:
  Status read_sample(std::size_t index, std::span<const std::span<std::byte>> into) const override {
    if (bad_.contains(index)) return data_loss("rotten");
    for (std::size_t i = 0; i < 4; ++i) {
      const auto value = static_cast<std::int32_t>(index * 10 + i);
      std::memcpy(into[0].data() + i * sizeof(value), &value, sizeof(value));
    }
    return ok_status();
  }
  Result<Label> read_label(std::size_t) const override { return Label(); }

  std::set<std::size_t> bad_;
};

// Memory of `count` slots for batches of Numbers.
struct Slots {
  Slots(std::size_t count, std::size_t batch_size)
      : memory(count, std::vector<std::int32_t>(batch_size * 4)) {}
  std::vector<BatchBuffers> buffers() {
    std::vector<BatchBuffers> result;
    for (auto& slot : memory) result.push_back({std::as_writable_bytes(std::span(slot))});
    return result;
  }
  std::vector<std::vector<std::int32_t>> memory;
};

TEST(BatchSource, BatchesComeInOrderWhateverTheNumberOfDecoders) {
  for (const std::size_t decoders : {1U, 2U, 5U}) {
    const Numbers set(103);
    Slots slots(3, 8);
    const auto source = BatchSource::start(
        set, slots.buffers(), {.first = 0, .count = 103, .batch_size = 8, .decoders = decoders});
    ASSERT_THAT(source, IsOk());
    std::size_t expected = 0;
    while (true) {
      const auto batch = (*source)->next();
      ASSERT_THAT(batch, IsOk());
      if (!batch->has_value()) break;
      EXPECT_EQ((*batch)->first, expected);
      for (std::size_t i = 0; i < (*batch)->count; ++i) {
        EXPECT_EQ(slots.memory[(*batch)->slot][i * 4],
                  static_cast<std::int32_t>((expected + i) * 10));
      }
      expected += (*batch)->count;
      (*source)->release((*batch)->slot);
    }
    EXPECT_EQ(expected, 103U);
  }
}

TEST(BatchSource, AShortLastBatchIsFilledUpWithItsFirstSample) {
  const Numbers set(3);
  Slots slots(2, 2);
  const auto source = BatchSource::start(set, slots.buffers(), {.count = 3, .batch_size = 2});
  ASSERT_THAT(source, IsOk());
  ASSERT_THAT((*source)->next(), IsOk());
  const auto last = (*source)->next();
  ASSERT_THAT(last, IsOk());
  EXPECT_EQ((*last)->count, 1U);
  EXPECT_THAT(slots.memory[(*last)->slot], ElementsAre(20, 21, 22, 23, 20, 21, 22, 23));
}

TEST(BatchSource, SamplesAreJoinedAlongTheBatchAxis) {
  const Numbers set(2);
  Slots slots(1, 2);
  const auto source =
      BatchSource::start(set, slots.buffers(), {.count = 2, .batch_size = 2, .batch_axes = {{1}}});
  ASSERT_THAT(source, IsOk());
  ASSERT_THAT((*source)->next(), IsOk());
  // [1, 2, 2] twice along axis 1 is [1, 4, 2]: the samples one after the other.
  EXPECT_THAT(slots.memory[0], ElementsAre(0, 1, 2, 3, 10, 11, 12, 13));
  Slots wide(1, 2);
  const auto last_axis =
      BatchSource::start(set, wide.buffers(), {.count = 2, .batch_size = 2, .batch_axes = {{2}}});
  ASSERT_THAT(last_axis, IsOk());
  ASSERT_THAT((*last_axis)->next(), IsOk());
  // Along axis 2 it is [1, 2, 4]: rows of both samples side by side.
  EXPECT_THAT(wide.memory[0], ElementsAre(0, 1, 10, 11, 2, 3, 12, 13));
}

TEST(BatchSource, AnInputThatIsNotBatchedIsTheFirstSamples) {
  const Numbers set(4);
  Slots slots(2, 1);
  const auto source = BatchSource::start(
      set, slots.buffers(), {.count = 4, .batch_size = 2, .batch_axes = {std::nullopt}});
  ASSERT_THAT(source, IsOk());
  ASSERT_THAT((*source)->next(), IsOk());
  const auto second = (*source)->next();
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(slots.memory[(*second)->slot], ElementsAre(20, 21, 22, 23));
}

TEST(BatchSource, TheFirstBadSampleEndsTheStreamAndIsNamed) {
  const Numbers set(100, {21, 27, 90});
  Slots slots(2, 8);
  const auto source =
      BatchSource::start(set, slots.buffers(), {.count = 100, .batch_size = 8, .decoders = 4});
  ASSERT_THAT(source, IsOk());
  for (int i = 0; i < 2; ++i) {
    const auto batch = (*source)->next();
    ASSERT_THAT(batch, IsOk());
    (*source)->release((*batch)->slot);
  }
  const auto failed = (*source)->next();
  EXPECT_THAT(failed, StatusIs(StatusCode::kDataLoss, HasSubstr("sample \"n21\": rotten")));
  EXPECT_THAT((*source)->next(), StatusIs(StatusCode::kDataLoss, HasSubstr("n21")));
}

TEST(BatchSource, CancelWakesAWaitingConsumer) {
  const Numbers set(100);
  Slots slots(1, 100);
  const auto source = BatchSource::start(set, slots.buffers(), {.count = 100, .batch_size = 100});
  ASSERT_THAT(source, IsOk());
  ASSERT_THAT((*source)->next(), IsOk());
  (*source)->cancel();
  EXPECT_THAT((*source)->next(), StatusIs(StatusCode::kCancelled, ::testing::_));
}

TEST(BatchSource, CanBeDroppedAtAnyMoment) {
  const Numbers set(1000);
  for (std::size_t taken = 0; taken < 5; ++taken) {
    Slots slots(2, 4);
    const auto source =
        BatchSource::start(set, slots.buffers(), {.count = 1000, .batch_size = 4, .decoders = 3});
    ASSERT_THAT(source, IsOk());
    for (std::size_t i = 0; i < taken; ++i) {
      const auto batch = (*source)->next();
      ASSERT_THAT(batch, IsOk());
      (*source)->release((*batch)->slot);
    }
  }
}

TEST(BatchSource, AskingForMoreThanThereAreSlotsIsAnErrorAndNotADeadlock) {
  const Numbers set(4);
  Slots slots(1, 2);
  const auto source = BatchSource::start(set, slots.buffers(), {.count = 4, .batch_size = 2});
  ASSERT_THAT(source, IsOk());
  ASSERT_THAT((*source)->next(), IsOk());
  EXPECT_THAT((*source)->next(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("release")));
}

TEST(BatchSource, AnEmptyRangeEndsAtOnce) {
  const Numbers set(4);
  Slots slots(1, 2);
  const auto source = BatchSource::start(set, slots.buffers(), {.first = 4, .batch_size = 2});
  ASSERT_THAT(source, IsOk());
  const auto batch = (*source)->next();
  ASSERT_THAT(batch, IsOk());
  EXPECT_FALSE(batch->has_value());
}

TEST(BatchSource, RefusesWhatCannotWork) {
  const Numbers set(4);
  Slots slots(1, 2);
  const auto start = [&](std::vector<BatchBuffers> buffers, const PrefetchOptions& options) {
    return BatchSource::start(set, std::move(buffers), options).status();
  };
  EXPECT_THAT(start({}, {.count = 4, .batch_size = 2}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no slot")));
  EXPECT_THAT(start(slots.buffers(), {.count = 4, .batch_size = 3}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has 32 bytes, 48 are wanted")));
  EXPECT_THAT(start(slots.buffers(), {.count = 5, .batch_size = 2}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("samples 0 to 5 of 4")));
  EXPECT_THAT(start(slots.buffers(), {.count = 4, .batch_size = 0}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("batch size 0")));
  EXPECT_THAT(start(slots.buffers(), {.count = 4, .batch_size = 2, .batch_axes = {{3}}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("batch axis 3")));
}

}  // namespace
}  // namespace assay::dataset
