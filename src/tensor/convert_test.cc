#include "tensor/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/testing.h"

namespace assay {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

template <typename From, typename To>
Result<std::vector<To>> converted(DType from, std::vector<From> values, DType to) {
  std::vector<To> out(values.size());
  RETURN_IF_ERROR(
      convert(from, std::as_bytes(std::span(values)), to, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST(Half, EveryFiniteBitPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (std::isnan(half_to_float(half))) continue;
    ASSERT_EQ(float_to_half(half_to_float(half)), half) << bits;
  }
}

TEST(Half, HandComputedRounding) {
  EXPECT_EQ(float_to_half(1.0F), 0x3C00);
  EXPECT_EQ(float_to_half(65504.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFF);             // below the middle
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);             // the middle goes to even: infinity
  EXPECT_EQ(float_to_half(1.0F + 0x1p-11F), 0x3C00);      // tie to even, down
  EXPECT_EQ(float_to_half(1.0F + 3 * 0x1p-11F), 0x3C02);  // tie to even, up
  EXPECT_EQ(float_to_half(0x1p-24F), 0x0001);             // smallest subnormal
  EXPECT_EQ(float_to_half(0x1p-25F), 0x0000);             // tie to even: zero
  EXPECT_EQ(float_to_half(0x1.ffcp-15F), 0x0400);         // rounds up into the normals
}

TEST(BFloat16, HandComputedRounding) {
  EXPECT_EQ(float_to_bfloat16(1.0F), 0x3F80);
  EXPECT_EQ(float_to_bfloat16(1.0F + 0x1p-8F), 0x3F80);  // tie to even
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::nanf("")))));
}

TEST(Convert, NanAndInfSurvive) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto halves =
      converted<float, std::uint16_t>(DType::kFloat32, {std::nanf(""), inf, -inf}, DType::kFloat16);
  EXPECT_TRUE(std::isnan(half_to_float(halves.value()[0])));
  EXPECT_EQ(half_to_float(halves.value()[1]), inf);
  EXPECT_EQ(half_to_float(halves.value()[2]), -inf);
}

TEST(Convert, IntegerThatDoesNotFitIsRefusedWithIndexAndValue) {
  EXPECT_THAT(
      (converted<std::int64_t, std::int32_t>(DType::kInt64, {1, 3'000'000'000}, DType::kInt32)),
      StatusIs(StatusCode::kOutOfRange, HasSubstr("element 1 is 3000000000")));
}

TEST(Convert, SmallIntegersWiden) {
  EXPECT_EQ((converted<std::uint8_t, std::int64_t>(DType::kUInt8, {0, 255}, DType::kInt64).value()),
            (std::vector<std::int64_t>{0, 255}));
}

TEST(ConversionLoss, SaysWhatMayBeLost) {
  EXPECT_EQ(conversion_loss(DType::kFloat16, DType::kFloat32).value(), Loss::kNone);
  EXPECT_EQ(conversion_loss(DType::kBFloat16, DType::kFloat16).value(), Loss::kRounding);
  EXPECT_EQ(conversion_loss(DType::kFloat32, DType::kFloat16).value(), Loss::kRounding);
  EXPECT_EQ(conversion_loss(DType::kInt32, DType::kInt64).value(), Loss::kNone);
  EXPECT_EQ(conversion_loss(DType::kInt64, DType::kInt32).value(), Loss::kRange);
  EXPECT_EQ(conversion_loss(DType::kInt8, DType::kUInt8).value(), Loss::kRange);
  EXPECT_EQ(conversion_loss(DType::kUInt8, DType::kInt16).value(), Loss::kNone);
  EXPECT_EQ(conversion_loss(DType::kInt32, DType::kFloat32).value(), Loss::kRounding);
  EXPECT_EQ(conversion_loss(DType::kInt16, DType::kFloat32).value(), Loss::kNone);
  EXPECT_FALSE(conversion_loss(DType::kFloat32, DType::kInt32).ok());
}

TEST(Convert, TooLittleRoomIsRefused) {
  std::vector<float> from(4);
  std::vector<std::byte> to(4);
  EXPECT_FALSE(convert(DType::kFloat32, std::as_bytes(std::span(from)), DType::kFloat16, to).ok());
}

}  // namespace
}  // namespace assay
