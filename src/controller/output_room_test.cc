#include "controller/output_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/testing.h"

namespace assay::controller {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OutputRoom, AGuessThatSufficesIsTriedOnce) {
  std::vector<std::size_t> tried;
  const auto bytes = grow_output_room(100, [&](std::size_t room) -> Result<std::uint64_t> {
    tried.push_back(room);
    return std::uint64_t{0};
  });
  ASSERT_THAT(bytes, IsOk());
  EXPECT_EQ(*bytes, 100U);
  EXPECT_THAT(tried, ElementsAre(100));
}

TEST(OutputRoom, GrowsToWhatIsNeededAndAtLeastTwofold) {
  // The first answer wants less than twice the room, the second more.
  const std::vector<std::uint64_t> needed = {130, 1000, 0};
  std::vector<std::size_t> tried;
  const auto bytes = grow_output_room(100, [&](std::size_t room) -> Result<std::uint64_t> {
    tried.push_back(room);
    return needed[tried.size() - 1];
  });
  ASSERT_THAT(bytes, IsOk());
  EXPECT_EQ(*bytes, 1000U);
  EXPECT_THAT(tried, ElementsAre(100, 200, 1000));
}

TEST(OutputRoom, GivesUpOnOutputsThatAlwaysWantMore) {
  int attempts = 0;
  EXPECT_THAT(grow_output_room(1,
                               [&](std::size_t room) -> Result<std::uint64_t> {
                                 ++attempts;
                                 return room + 1;
                               }),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("more room each time")));
  EXPECT_EQ(attempts, 16);
}

TEST(OutputRoom, AnErrorEndsIt) {
  EXPECT_THAT(
      grow_output_room(1, [](std::size_t) -> Result<std::uint64_t> { return unavailable("gone"); }),
      StatusIs(StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST(OutputRoom, AnswersSayWhatWasMissing) {
  const Json fitted = {{"infer_ns", 5}};
  EXPECT_EQ(*missing_output_bytes(TypedObject(fitted, "an answer")), 0U);
  const Json larger = {{"needed_output_bytes", 4096}};
  EXPECT_EQ(*missing_output_bytes(TypedObject(larger, "an answer")), 4096U);
  const Json wrong = {{"needed_output_bytes", -1}};
  EXPECT_FALSE(missing_output_bytes(TypedObject(wrong, "an answer")).ok());
}

}  // namespace
}  // namespace assay::controller
