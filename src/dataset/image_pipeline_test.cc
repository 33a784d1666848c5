#include "dataset/image_pipeline.h"

#include <gmock/gmock.h>

#include "base/testing.h"
#include "tensor/convert.h"

namespace assay::dataset {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two pixels, one above the other: (10, 20, 30) and (40, 50, 60).
Image two_pixels() { return {{2, 1}, 3, {10, 20, 30, 40, 50, 60}}; }

template <typename T>
std::vector<T> run(const ImagePreprocess& steps, const TensorSpec& input, Image image) {
  const auto pipeline = ImagePipeline::make(steps, input);
  EXPECT_THAT(pipeline, IsOk());
  if (!pipeline.ok()) return {};
  std::vector<T> values(byte_size(pipeline->spec()).value() / sizeof(T));
  EXPECT_THAT(pipeline->run(std::move(image), std::as_writable_bytes(std::span(values))), IsOk());
  return values;
}

TEST(ImagePipeline, WritesChannelPlanesForNchw) {
  const auto values = run<float>({}, {"x", DType::kFloat32, {-1, 3, 2, 1}}, two_pixels());
  EXPECT_THAT(values, ElementsAre(10, 40, 20, 50, 30, 60));
}

TEST(ImagePipeline, KeepsPixelsTogetherForNhwc) {
  ImagePreprocess steps;
  steps.layout = Layout::kNhwc;
  const auto values = run<float>(steps, {"x", DType::kFloat32, {1, 2, 1, 3}}, two_pixels());
  EXPECT_THAT(values, ElementsAre(10, 20, 30, 40, 50, 60));
}

TEST(ImagePipeline, MeanAndScaleFollowTheTensorsChannelOrder) {
  ImagePreprocess steps;
  steps.channel_order = ChannelOrder::kBgr;
  steps.mean = {30, 20, 10};  // of blue, green, red
  steps.scale = {2, 4, 10};
  const auto values = run<float>(steps, {"x", DType::kFloat32, {1, 3, 2, 1}}, two_pixels());
  EXPECT_THAT(values, ElementsAre(0.0F, 15.0F, 0.0F, 7.5F, 0.0F, 3.0F));
}

TEST(ImagePipeline, ArithmeticIsThatOfBinary32) {
  ImagePreprocess steps;
  steps.decode = ColorSpace::kGray;
  steps.mean = {127.0F};
  steps.scale = {128.0F};
  const auto values =
      run<float>(steps, {"x", DType::kFloat32, {1, 1, 1, 2}}, {{1, 2}, 1, {0, 255}});
  EXPECT_THAT(values, ElementsAre(-127.0F / 128.0F, 1.0F));
  steps.mean = {0.0F};
  steps.scale = {255.0F};
  const auto unit = run<float>(steps, {"x", DType::kFloat32, {1, 1, 1, 2}}, {{1, 2}, 1, {1, 255}});
  EXPECT_THAT(unit, ElementsAre(1.0F / 255.0F, 1.0F));
}

TEST(ImagePipeline, WritesHalfAndIntegers) {
  const auto half = run<std::uint16_t>({}, {"x", DType::kFloat16, {1, 3, 2, 1}}, two_pixels());
  EXPECT_EQ(half.front(), float_to_half(10.0F));
  const auto bytes = run<std::uint8_t>({}, {"x", DType::kUInt8, {1, 3, 2, 1}}, two_pixels());
  EXPECT_THAT(bytes, ElementsAre(10, 40, 20, 50, 30, 60));
  ImagePreprocess centred;
  centred.mean = {128.0F};
  const auto signed_bytes =
      run<std::int8_t>(centred, {"x", DType::kInt8, {1, 3, 2, 1}}, two_pixels());
  EXPECT_THAT(signed_bytes, ElementsAre(-118, -88, -108, -78, -98, -68));
}

TEST(ImagePipeline, AnIntegerInputThatCannotHoldTheValuesIsRefused) {
  ImagePreprocess steps;
  steps.scale = {255.0F};
  EXPECT_THAT(ImagePipeline::make(steps, {"x", DType::kUInt8, {1, 3, 2, 1}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cannot hold")));
  EXPECT_THAT(ImagePipeline::make({}, {"x", DType::kInt8, {1, 3, 2, 1}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("turns 128 into 128")));
}

TEST(ImagePipeline, ShortSideKeepsProportionAndRoundsHalfToEven) {
  ImagePreprocess steps;
  steps.decode = ColorSpace::kGray;
  steps.resize = {.short_side = 2, .exact = std::nullopt, .filter = Filter::kNearest};
  // 4 x 9 becomes 2 x 4.5, rounded to 4.
  const Image image{{4, 9}, 1, std::vector<std::uint8_t>(36, 1)};
  const auto values = run<float>(steps, {"x", DType::kFloat32, {1, 1, 2, 4}}, image);
  EXPECT_EQ(values.size(), 8U);
}

TEST(ImagePipeline, AShapeOrLayoutThatTheModelDoesNotTakeNamesBoth) {
  ImagePreprocess steps;
  steps.center_crop = ImageSize{224, 224};
  EXPECT_THAT(
      ImagePipeline::make(steps, {"x", DType::kFloat32, {-1, 224, 224, 3}}),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr(
                   R"(gives "x": FLOAT32 [1,3,224,224], model wants "x": FLOAT32 [?,224,224,3])")));
  EXPECT_THAT(ImagePipeline::make(steps, {"x", DType::kFloat32, {-1, 224}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rank 4")));
  EXPECT_THAT(ImagePipeline::make({}, {"x", DType::kFloat32, {-1, 3, -1, -1}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("leaves the image size free")));
}

TEST(ImagePipeline, AnImageOfAnotherSizeIsRefusedWhenNothingResizesIt) {
  const auto pipeline = ImagePipeline::make({}, {"x", DType::kFloat32, {1, 3, 4, 4}});
  ASSERT_THAT(pipeline, IsOk());
  std::vector<std::byte> into(4 * 4 * 3 * 4);
  EXPECT_THAT(
      pipeline->run(two_pixels(), into),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("the image is 1x2, model wants 4x4")));
}

// A red image shows at once when channels are swapped on the way.
TEST(ImagePipeline, RedStaysRed) {
  const Image red{{8, 8}, 3, [] {
                    std::vector<std::uint8_t> pixels;
                    for (int i = 0; i < 64; ++i) pixels.insert(pixels.end(), {255, 0, 0});
                    return pixels;
                  }()};
  ImagePreprocess steps;
  steps.resize = {.short_side = 6, .exact = std::nullopt, .filter = Filter::kBicubic};
  steps.center_crop = ImageSize{2, 2};
  const auto values = run<float>(steps, {"x", DType::kFloat32, {1, 3, 2, 2}}, red);
  EXPECT_THAT(values, ElementsAre(255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace assay::dataset
