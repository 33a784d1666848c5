#include "dataset/preprocess.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/testing.h"

namespace assay::dataset {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Preprocess> parse(const char* text) { return parse_preprocess(Json::parse(text)); }

TEST(Preprocess, ReadsEveryKeyOfAnImage) {
  const auto result = parse(R"({
    "decode": "rgb", "resize": {"mode": "short_side", "size": 256, "filter": "bicubic"},
    "crop": {"mode": "center", "size": [224, 200]}, "channel_order": "BGR", "layout": "NHWC",
    "mean": [127, 126, 125], "scale": 128})");
  ASSERT_THAT(result, IsOk());
  const auto& image = std::get<ImagePreprocess>(*result);
  EXPECT_EQ(image.decode, ColorSpace::kRgb);
  EXPECT_EQ(image.resize->short_side, 256);
  EXPECT_EQ(image.resize->filter, Filter::kBicubic);
  EXPECT_EQ(image.center_crop, (ImageSize{224, 200}));
  EXPECT_EQ(image.channel_order, ChannelOrder::kBgr);
  EXPECT_EQ(image.layout, Layout::kNhwc);
  EXPECT_THAT(image.mean, ElementsAre(127.0F, 126.0F, 125.0F));
  EXPECT_THAT(image.scale, ElementsAre(128.0F));
}

TEST(Preprocess, ReadsText) {
  const auto result = parse(R"({"tokenizer": "wordpiece", "vocab": "v.txt", "lowercase": false,
                                "max_length": 64, "padding": "max_length"})");
  ASSERT_THAT(result, IsOk());
  const auto& text = std::get<TextPreprocess>(*result);
  EXPECT_EQ(text.vocab, "v.txt");
  EXPECT_FALSE(text.lowercase);
  EXPECT_EQ(text.max_length, 64);
}

TEST(Preprocess, NullIsNone) {
  const auto result = parse("null");
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*result));
}

TEST(Preprocess, DecodeBgrIsTheTensorsOrder) {
  const auto result = parse(R"({"decode": "bgr"})");
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(std::get<ImagePreprocess>(*result).channel_order, ChannelOrder::kBgr);
}

TEST(Preprocess, ReportsEveryProblemAtOnce) {
  const auto result = parse(R"({
    "decode": "yuv", "reszie": 1, "resize": {"mode": "exact", "size": 0, "filter": "cubic"},
    "crop": {"mode": "center"}, "mean": [1, 2], "scale": [1, 0, 1]})");
  EXPECT_THAT(
      result,
      StatusIs(
          StatusCode::kInvalidArgument,
          AllOf(HasSubstr(R"(preprocess.decode: got "yuv", accepted is one of rgb, bgr, gray)"),
                HasSubstr(R"(preprocess.reszie: unknown key (did you mean "resize"?))"),
                HasSubstr("preprocess.resize.size: got 0"),
                HasSubstr(R"(preprocess.resize.filter: got "cubic")"),
                HasSubstr("preprocess.crop.size: missing"), HasSubstr("preprocess.mean: got [1,2]"),
                HasSubstr("preprocess.scale: got [1,0,1]"))));
}

TEST(Preprocess, AContradictionIsAnError) {
  EXPECT_THAT(parse(R"({"decode": "bgr", "channel_order": "RGB"})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("contradicts")));
  EXPECT_THAT(parse(R"({"decode": "gray", "mean": [1, 2, 3]})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one channel")));
}

TEST(Preprocess, TextNeedsVocabularyAndLength) {
  EXPECT_THAT(parse(R"({"tokenizer": "wordpiece"})"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("vocab: missing"), HasSubstr("max_length: missing"))));
}

TEST(Preprocess, NumbersOutsideAnyRangeAreRefused) {
  EXPECT_THAT(parse(R"({"crop": {"size": 18446744073709551615}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("crop.size")));
  EXPECT_THAT(parse(R"({"crop": {"size": [-1, 5]}})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("crop.size")));
}

TEST(Preprocess, TextFormHasOneSpellingPerMeaning) {
  const auto a = parse(R"({"decode": "bgr", "mean": 0})");
  const auto b = parse(R"({"mean": [0.0], "channel_order": "BGR", "decode": "rgb"})");
  ASSERT_THAT(a, IsOk());
  ASSERT_THAT(b, IsOk());
  EXPECT_EQ(to_string(*a), to_string(*b));
  const auto c = parse(R"({"decode": "rgb", "mean": 0})");
  EXPECT_NE(to_string(*a), to_string(*c));
}

}  // namespace
}  // namespace assay::dataset
