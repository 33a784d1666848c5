#include "worker/output_slots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/testing.h"

namespace assay::worker {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

class SlotSinkTest : public ::testing::Test {
 protected:
  ArenaLayout layout_{.inputs = {},
                      .outputs = {{"y", DType::kFloat32, {-1}}, {"z", DType::kUInt8, {-1}}},
                      .input_slots = 0,
                      .output_slots = 1,
                      .output_capacity_bytes = 128};
  std::vector<std::byte> slot_ = std::vector<std::byte>(output_slot_bytes(layout_));
  SlotSink sink_{2};

  std::span<std::byte> take(std::size_t index, std::int64_t bytes) {
    const std::array<std::int64_t, 1> shape = {bytes};
    return sink_.allocate(index, shape, static_cast<std::size_t>(bytes)).value();
  }
  void begin() {
    sink_.aim(slot_);
    sink_.poison(0x2323456789abcdef);
  }
};

TEST_F(SlotSinkTest, TheWholeCapacityCanBeTaken) {
  begin();
  EXPECT_EQ(take(0, 64).size(), 64U);
  EXPECT_EQ(take(1, 64).size(), 64U);
  EXPECT_EQ(sink_.missing_capacity_bytes(), 0U);
}

TEST_F(SlotSinkTest, MoreIsRefusedAndSaid) {
  begin();
  const std::array<std::int64_t, 1> shape = {257};
  EXPECT_FALSE(sink_.allocate(0, shape, 257).ok());
  EXPECT_EQ(sink_.missing_capacity_bytes(), 320U);
}

TEST_F(SlotSinkTest, WritingAllThatIsGivenIsFine) {
  begin();
  std::ranges::fill(take(0, 64), std::byte{1});
  std::ranges::fill(take(1, 7), std::byte{1});
  EXPECT_THAT(check_ends(sink_, layout_.outputs), IsOk());
}

TEST_F(SlotSinkTest, OneByteMoreIsFoundAndNamed) {
  for (const std::int64_t bytes : {64, 7}) {
    begin();
    take(0, 64);
    std::byte* const second = take(1, bytes).data();
    second[bytes] = std::byte{1};
    EXPECT_THAT(check_ends(sink_, layout_.outputs),
                StatusIs(StatusCode::kInternal, HasSubstr("output \"z\"")));
  }
  begin();
  std::byte* const first = take(0, 64).data();
  take(1, 7);
  first[64] = std::byte{1};
  EXPECT_THAT(check_ends(sink_, layout_.outputs),
              StatusIs(StatusCode::kInternal, HasSubstr("output \"y\"")));
}

}  // namespace
}  // namespace assay::worker
