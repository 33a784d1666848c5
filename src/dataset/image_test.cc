#include "dataset/image.h"

#include <gmock/gmock.h>

#include "base/testing.h"
#include "dataset/pillow_golden.h"

namespace assay::dataset {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_bytes(const std::string& name) {
  return read_file(testing::pillow_folder() / name).value();
}

TEST(Decode, EqualsPillowBitForBitForEveryKindOfFile) {
  const auto cases = testing::pillow_cases("decode.json");
  ASSERT_EQ(cases.size(), 15U);
  for (const auto& item : cases) {
    const Result<Image> image = decode_rgb(file_bytes(item["file"]));
    ASSERT_THAT(image, IsOk()) << item;
    EXPECT_EQ(image->size, (ImageSize{item["size"][1], item["size"][0]})) << item;
    EXPECT_EQ(testing::digest_of(*image), item["rgb"]) << item;
    EXPECT_EQ(testing::digest_of(to_gray(*image)), item["gray"]) << item;
  }
}

// Wherever a file is cut, decoding says so; a partial image would be a wrong answer.
TEST(Decode, EveryTruncationIsAnError) {
  for (const std::string name :
       {"420.jpg", "progressive.jpg", "gray.jpg", "rgb.png", "palette.png"}) {
    const std::string whole = file_bytes(name);
    const std::size_t end_marker = name.ends_with("jpg") ? 2 : 12;
    for (std::size_t length = 0; length + end_marker < whole.size(); ++length) {
      const Result<Image> image = decode_rgb(std::string_view(whole).substr(0, length));
      ASSERT_FALSE(image.ok()) << name << " cut to " << length << " of " << whole.size();
      ASSERT_THAT(image.status().code(), AnyOf(StatusCode::kDataLoss, StatusCode::kUnimplemented));
    }
  }
}

// No assertion on the outcome: a flipped bit may be a valid image. The sanitizers look on.
TEST(Decode, NoFlippedByteDoesHarm) {
  for (const std::string name : {"420.jpg", "progressive.jpg", "cmyk.jpg", "palette_alpha.png"}) {
    std::string bytes = file_bytes(name);
    for (char& byte : bytes) {
      const char kept = std::exchange(byte, static_cast<char>(byte ^ 0x55));
      const Result<Image> image = decode_rgb(bytes);
      if (image.ok()) {
        EXPECT_EQ(image->pixels.size(),
                  static_cast<std::size_t>(image->size.height * image->size.width * 3));
      }
      byte = kept;
    }
  }
}

TEST(Decode, AHugeClaimInAHeaderIsRefusedBeforeMemoryIsTaken) {
  std::string bytes = file_bytes("420.jpg");
  const std::size_t frame = bytes.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  bytes.replace(frame + 5, 4, "\xFF\xDC\xFF\xDC");  // height and width of 65500
  EXPECT_THAT(decode_rgb(bytes),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("65500x65500")));
}

TEST(Decode, SaysWhatIsNoImage) {
  EXPECT_THAT(decode_rgb(""), StatusIs(StatusCode::kDataLoss, HasSubstr("empty")));
  EXPECT_THAT(decode_rgb("GIF89a......"),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("neither a JPEG nor a PNG")));
}

TEST(Image, GrayIsTheLumaOfBt601) {
  const Image rgb{{1, 4}, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}};
  EXPECT_THAT(to_gray(rgb).pixels, ElementsAre(76, 150, 29, 255));
}

TEST(Image, GrayBecomesThreeEqualChannels) {
  EXPECT_THAT(gray_to_rgb({{1, 2}, 1, {3, 9}}).pixels, ElementsAre(3, 3, 3, 9, 9, 9));
}

}  // namespace
}  // namespace assay::dataset
