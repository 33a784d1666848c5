#include "check/elements.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tensor/convert.h"

namespace assay::check {
namespace {

template <typename T>
std::vector<double> doubles(DType dtype, const std::vector<T>& values) {
  std::vector<double> out(values.size());
  load_doubles(dtype, std::as_bytes(std::span(values)), out.data());
  return out;
}

void expect_same(double got, double want, std::uint32_t bits) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << bits;
    return;
  }
  EXPECT_EQ(got, want) << bits;
  EXPECT_EQ(std::signbit(got), std::signbit(want)) << bits;
}

TEST(Elements, EveryHalfAndBFloat16HasItsValue) {
  std::vector<std::uint16_t> all(65536);
  for (std::uint32_t bits = 0; bits < all.size(); ++bits) {
    all[bits] = static_cast<std::uint16_t>(bits);
  }
  const std::vector<double> halves = doubles(DType::kFloat16, all);
  const std::vector<double> brains = doubles(DType::kBFloat16, all);
  for (std::uint32_t bits = 0; bits < all.size(); ++bits) {
    expect_same(halves[bits], static_cast<double>(half_to_float(all[bits])), bits);
    expect_same(brains[bits], static_cast<double>(bfloat16_to_float(all[bits])), bits);
  }
}

TEST(Elements, Float8HasItsPublishedExtremes) {
  const std::vector<std::uint8_t> bits{0x00, 0x01, 0x08, 0x38, 0x7E, 0xFE, 0x7F};
  const std::vector<double> values = doubles(DType::kFloat8E4M3, bits);
  EXPECT_EQ(values[0], 0.0);
  EXPECT_EQ(values[1], 0x1p-9);  // smallest subnormal
  EXPECT_EQ(values[2], 0x1p-6);  // smallest normal
  EXPECT_EQ(values[3], 1.0);
  EXPECT_EQ(values[4], 448.0);  // largest
  EXPECT_EQ(values[5], -448.0);
  EXPECT_TRUE(std::isnan(values[6]));
}

TEST(Elements, IntegersKeepTheirSign) {
  EXPECT_EQ(doubles<std::int8_t>(DType::kInt8, {-128, 127})[0], -128.0);
  EXPECT_EQ(doubles<std::uint8_t>(DType::kUInt8, {255})[0], 255.0);
  EXPECT_EQ(doubles<std::int16_t>(DType::kInt16, {-2})[0], -2.0);
  EXPECT_EQ(doubles<std::uint16_t>(DType::kUInt16, {65535})[0], 65535.0);
  EXPECT_EQ(doubles<std::int32_t>(DType::kInt32, {-7})[0], -7.0);
  EXPECT_EQ(doubles<std::uint32_t>(DType::kUInt32, {4294967295U})[0], 4294967295.0);
  EXPECT_EQ(doubles<std::int64_t>(DType::kInt64, {-9})[0], -9.0);
  EXPECT_EQ(doubles<std::uint64_t>(DType::kUInt64, {1ULL << 63})[0], 0x1p63);
  EXPECT_EQ(doubles<std::uint8_t>(DType::kBool, {1})[0], 1.0);
}

TEST(Elements, DifferencesOfMixedIntegersAreExact) {
  const std::vector<std::uint64_t> ref{18446744073709551615ULL};
  const std::vector<std::int64_t> got{-1};
  double difference = 0.0;
  integer_differences(DType::kUInt64, std::as_bytes(std::span(ref)), DType::kInt64,
                      std::as_bytes(std::span(got)), &difference);
  EXPECT_EQ(difference, -0x1p64);
}

TEST(Elements, UnalignedBytesAreRead) {
  std::vector<std::byte> bytes(1 + sizeof(float));
  const float one = 1.0F;
  std::memcpy(bytes.data() + 1, &one, sizeof(one));
  double value = 0.0;
  load_doubles(DType::kFloat32, std::span(bytes).subspan(1), &value);
  EXPECT_EQ(value, 1.0);
}

TEST(Elements, CoarserHasFewerSignificandBits) {
  EXPECT_EQ(coarser(DType::kFloat32, DType::kBFloat16), DType::kBFloat16);
  EXPECT_EQ(coarser(DType::kFloat16, DType::kBFloat16), DType::kBFloat16);
  EXPECT_EQ(coarser(DType::kFloat16, DType::kFloat64), DType::kFloat16);
}

}  // namespace
}  // namespace assay::check
