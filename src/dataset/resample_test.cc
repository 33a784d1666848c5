#include "dataset/resample.h"

#include <gmock/gmock.h>

#include "base/testing.h"
#include "dataset/pillow_golden.h"

namespace assay::dataset {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Image gray(std::int64_t height, std::int64_t width, std::vector<std::uint8_t> pixels) {
  return {{height, width}, 1, std::move(pixels)};
}

TEST(Resize, EqualsPillowBitForBitForEverySizeAndFilter) {
  const auto cases = testing::pillow_cases("resize.json");
  ASSERT_EQ(cases.size(), 360U);
  for (const auto& item : cases) {
    const ImageSize from{item["from"][1], item["from"][0]};
    const ImageSize to{item["to"][1], item["to"][0]};
    const std::int64_t channels = item["channels"];
    const auto count = static_cast<std::size_t>(from.height * from.width * channels);
    const Image image{from, channels, testing::noise(count, item["seed"])};
    const auto filter = parse_filter(item["filter"].get<std::string>());
    ASSERT_TRUE(filter.has_value()) << item;
    const Result<Image> result = resize(image, to, *filter);
    ASSERT_THAT(result, IsOk()) << item;
    EXPECT_EQ(result->size, to);
    EXPECT_EQ(testing::digest_of(*result), item["sha256"]) << item;
  }
}

TEST(Resize, BoxFilterHalvingAveragesPairs) {
  const Result<Image> result = resize(gray(1, 4, {10, 20, 30, 41}), {1, 2}, Filter::kBox);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->pixels, ElementsAre(15, 36));  // 35.5 rounds up
}

TEST(Resize, BilinearDoublingBlendsThreeToOne) {
  const Result<Image> result = resize(gray(1, 2, {0, 100}), {1, 4}, Filter::kBilinear);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->pixels, ElementsAre(0, 25, 75, 100));
}

TEST(Resize, OvershootIsClamped) {
  const Result<Image> result = resize(gray(1, 4, {0, 0, 255, 255}), {1, 8}, Filter::kBicubic);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->pixels.front(), 0);
  EXPECT_EQ(result->pixels[2], 0);  // below 0 without the clamp
  EXPECT_EQ(result->pixels[5], 255);
}

TEST(Resize, AConstantImageStaysConstant) {
  const Image image{{37, 23}, 3, std::vector<std::uint8_t>(37 * 23 * 3, 77)};
  for (const Filter filter : {Filter::kNearest, Filter::kBox, Filter::kBilinear, Filter::kHamming,
                              Filter::kBicubic, Filter::kLanczos}) {
    const Result<Image> result = resize(image, {11, 50}, filter);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->pixels, std::vector<std::uint8_t>(11 * 50 * 3, 77)) << name_of(filter);
  }
}

TEST(Resize, RefusesSizesThatAreNoImage) {
  const Image image = gray(1, 1, {5});
  EXPECT_THAT(resize(image, {0, 4}, Filter::kBox),
              StatusIs(StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(resize(image, {1 << 20, 1 << 20}, Filter::kBox),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("1048576x1048576")));
}

TEST(CenterCrop, TakesTheMiddleAndLeavesTheSmallerHalfLeftAndAbove) {
  const Image image = gray(3, 4, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const Result<Image> result = center_crop(image, {2, 1});
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->pixels, ElementsAre(1, 5));
}

TEST(CenterCrop, RefusesWhatIsLargerThanTheImage) {
  EXPECT_THAT(center_crop(gray(2, 2, {1, 2, 3, 4}), {3, 2}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot crop 2x3 out of")));
}

TEST(Filter, NamesAreReadBack) {
  EXPECT_EQ(parse_filter("lanczos"), Filter::kLanczos);
  EXPECT_EQ(parse_filter("cubic"), std::nullopt);
  EXPECT_EQ(name_of(Filter::kHamming), "hamming");
}

}  // namespace
}  // namespace assay::dataset
