#include "worker/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/testing.h"

namespace assay::worker {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

ArenaLayout example() {
  return {.inputs = {{"a", DType::kFloat32, {2, 3}}, {"b", DType::kInt64, {2}}},
          .outputs = {{"y", DType::kFloat32, {-1, 2}}},
          .input_slots = 2,
          .output_slots = 3,
          .output_capacity_bytes = 100};
}

TEST(ArenaLayout, PartsAreAlignedAndDoNotOverlap) {
  const ArenaLayout layout = example();
  EXPECT_EQ(input_slot_bytes(layout.inputs).value(), 128U);  // 24 -> 64, 16 -> 64
  EXPECT_EQ(input_offset(layout.inputs, 1), 64U);
  std::vector<std::byte> arena(arena_bytes(layout).value());
  EXPECT_EQ(input_bytes(layout, arena, 1, 1).data() - arena.data(), 128 + 64);
  EXPECT_EQ(input_bytes(layout, arena, 1, 1).size(), 16U);
  EXPECT_EQ(output_slot(layout, arena, 0).data() - arena.data(), 256);
  EXPECT_EQ(output_slot(layout, arena, 2).data() + output_slot_bytes(layout),
            arena.data() + arena.size());
}

TEST(ArenaLayout, SurvivesTheJourneyAsJson) {
  const ArenaLayout layout = example();
  const ArenaLayout back = layout_from_json(to_json(layout)).value();
  EXPECT_EQ(back.inputs, layout.inputs);
  EXPECT_EQ(back.outputs, layout.outputs);
  EXPECT_EQ(arena_bytes(back).value(), arena_bytes(layout).value());
}

TEST(ArenaLayout, OverflowIsRefused) {
  ArenaLayout layout = example();
  layout.input_slots = SIZE_MAX / 2;
  EXPECT_THAT(arena_bytes(layout), StatusIs(StatusCode::kOutOfRange, HasSubstr("too many")));
}

class OutputSlot : public ::testing::Test {
 protected:
  ArenaLayout layout_ = example();
  std::vector<std::byte> slot_ = std::vector<std::byte>(output_slot_bytes(layout_));
  void put(const OutputRecord& record) { std::memcpy(slot_.data(), &record, sizeof(record)); }
};

TEST_F(OutputSlot, GivenOutputIsRead) {
  put({.present = 1, .offset = 192, .size_bytes = 16, .rank = 2, .shape = {2, 2}});
  const auto views = read_output_slot(layout_, slot_);
  ASSERT_THAT(views, IsOk());
  EXPECT_EQ((*views)[0].spec.shape, (Shape{2, 2}));
  EXPECT_EQ((*views)[0].bytes.data(), slot_.data() + 192);
}

TEST_F(OutputSlot, MissingOutputIsNamed) {
  EXPECT_THAT(read_output_slot(layout_, slot_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("\"y\"")));
}

TEST_F(OutputSlot, RecordThatLeavesTheSlotIsDataLoss) {
  put({.present = 1, .offset = UINT64_MAX - 3, .size_bytes = 16, .rank = 2, .shape = {2, 2}});
  EXPECT_EQ(read_output_slot(layout_, slot_).status().code(), StatusCode::kDataLoss);
  put({.present = 1, .offset = 192, .size_bytes = 1 << 20, .rank = 2, .shape = {2, 2}});
  EXPECT_EQ(read_output_slot(layout_, slot_).status().code(), StatusCode::kDataLoss);
  put({.present = 1, .offset = 192, .size_bytes = 16, .rank = 1'000, .shape = {2, 2}});
  EXPECT_EQ(read_output_slot(layout_, slot_).status().code(), StatusCode::kDataLoss);
}

TEST_F(OutputSlot, SizeThatContradictsTheShapeIsDataLoss) {
  put({.present = 1, .offset = 192, .size_bytes = 12, .rank = 2, .shape = {2, 2}});
  EXPECT_THAT(
      read_output_slot(layout_, slot_),
      StatusIs(StatusCode::kDataLoss, HasSubstr("12 bytes were given, the shape takes 16")));
}

}  // namespace
}  // namespace assay::worker
