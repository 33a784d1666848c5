#include "controller/bisect_tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/testing.h"

namespace assay::controller {
namespace {

using ::assay::testing::IsOk;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
Tensor tensor_of(DType dtype, const std::vector<T>& values, Shape shape = {}) {
  if (shape.empty()) shape = {std::ssize(values)};
  Tensor made = *Tensor::make({"t", dtype, std::move(shape)});
  if (!values.empty()) std::memcpy(made.bytes().data(), values.data(), made.bytes().size());
  return made;
}
Tensor floats(const std::vector<float>& values) { return tensor_of(DType::kFloat32, values); }

TEST(BisectPrecision, CoarsestNameCounts) {
  EXPECT_EQ(bisect_precision("").name, "FP32");
  EXPECT_EQ(bisect_precision("FP32").unit, 0x1p-21);
  EXPECT_EQ(bisect_precision("FP16+FP32").name, "FP16");
  EXPECT_EQ(bisect_precision("FP32+BF16+FP16").name, "BF16");
  EXPECT_EQ(bisect_precision("INT8+FP32").name, "INT8");
  EXPECT_EQ(bisect_precision("INT8+FP32").scope, NoiseScope::kTensor);
  EXPECT_EQ(bisect_precision("FLOAT16").name, "FP16");
  EXPECT_EQ(bisect_precision("fp16").name, "FP16");
  EXPECT_EQ(bisect_precision("unknown").name, "FP32");
}

// 100 lies in [64, 128): its last place is 2^6 * 2^-23 in FP32, 2^6 * 2^-10 in FP16, 2^6 * 2^-7 in
// BF16.
TEST(ToleranceFloor, FourUnitsInTheLastPlaceOfTheLargestMagnitude) {
  const Tensor tensor = floats({1, -100, 3});
  EXPECT_EQ(tolerance_floor(tensor.view(), bisect_precision("FP32")), 4 * 0x1p-17);
  EXPECT_EQ(tolerance_floor(tensor.view(), bisect_precision("FP16")), 4 * 0x1p-4);
  EXPECT_EQ(tolerance_floor(tensor.view(), bisect_precision("BF16")), 4 * 0x1p-1);
}

TEST(ToleranceFloor, WhatIsNotFiniteHasNoMagnitude) {
  EXPECT_EQ(tolerance_floor(floats({1, kInf, kNan}).view(), bisect_precision("")), 4 * 0x1p-23);
  EXPECT_EQ(tolerance_floor(floats({0, 0}).view(), bisect_precision("")), 4 * 0x1p-149);
  EXPECT_EQ(tolerance_floor(floats({}).view(), bisect_precision("")), 4 * 0x1p-149);
}

TEST(ToleranceFloor, IntegersAreExactButForAStepOfAQuantiser) {
  const Tensor wide = tensor_of<std::int64_t>(DType::kInt64, {7, 900});
  const Tensor bytes = tensor_of<std::uint8_t>(DType::kUInt8, {7, 200});
  EXPECT_EQ(tolerance_floor(wide.view(), bisect_precision("FP32")), 0);
  EXPECT_EQ(tolerance_floor(wide.view(), bisect_precision("INT8")), 0);
  EXPECT_EQ(tolerance_floor(bytes.view(), bisect_precision("FP32")), 0);
  EXPECT_EQ(tolerance_floor(bytes.view(), bisect_precision("INT8")), 1);
}

TEST(CompareTensor, DifferenceBeyondTheFloorDeviates) {
  const Tensor reference = floats({1, 2, 3, 4});
  const float ulp = 0x1p-21F;  // of 4
  const Tensor near = floats({1, 2, 3, 4 + 4 * ulp});
  const Tensor far = floats({1, 2, 3 + 5 * ulp, 4});
  EXPECT_FALSE(compare_tensor(reference, &near, bisect_precision("")).deviates());
  const TensorDifference difference = compare_tensor(reference, &far, bisect_precision(""));
  EXPECT_TRUE(difference.deviates());
  EXPECT_EQ(difference.element, 2U);
  EXPECT_EQ(difference.reference, 3);
  EXPECT_EQ(difference.max_abs, double{5 * ulp});
  EXPECT_EQ(difference.excess(), 5.0 / 4);
}

TEST(CompareTensor, WhatIsFiniteOnOneSideOnlyAlwaysDeviates) {
  for (const auto& [reference, got] : std::vector<std::pair<float, float>>{
           {1, kInf}, {1, kNan}, {kNan, 1}, {kInf, -kInf}, {kInf, kNan}}) {
    const Tensor right = floats({1, reference});
    const Tensor wrong = floats({1, got});
    EXPECT_TRUE(compare_tensor(right, &wrong, bisect_precision("BF16")).deviates())
        << reference << " " << got;
  }
  const Tensor same = floats({kNan, kInf});
  EXPECT_FALSE(compare_tensor(same, &same, bisect_precision("")).deviates());
}

TEST(CompareTensor, WhatCannotBeComparedIsAMismatch) {
  const Tensor reference = tensor_of<float>(DType::kFloat32, {1, 2}, {1, 2});
  const Tensor other = tensor_of<float>(DType::kFloat32, {1, 2}, {2, 1});
  EXPECT_NE(compare_tensor(reference, &other, bisect_precision("")).mismatch, "");
  EXPECT_TRUE(compare_tensor(reference, nullptr, bisect_precision("")).deviates());
}

TEST(MovedInputs, MoveByTheUnitOfThePrecision) {
  TensorSet inputs;
  inputs.emplace("x", floats(std::vector<float>(1000, 1.5F)));
  inputs.emplace("n", tensor_of<std::int64_t>(DType::kInt64, {5}));
  const auto moved = moved_inputs(inputs, bisect_precision("FP16"), 1);
  ASSERT_THAT(moved, IsOk());
  double largest = 0;
  for (const float value : moved->at("x").as<float>()) {
    largest = std::max(largest, std::fabs(value - 1.5));
  }
  EXPECT_LE(largest, 1.5 * kFloat16Unit + 1e-6);
  EXPECT_GT(largest, 1.4 * kFloat16Unit);
  EXPECT_EQ(moved->at("n").as<std::int64_t>()[0], 5);
  EXPECT_EQ(inputs.at("x").as<float>()[0], 1.5F);
}

TEST(MovedInputs, QuantisersMoveEveryElementByTheLargest) {
  TensorSet inputs;
  std::vector<float> values(1000, 0.0F);
  values[3] = -10;
  inputs.emplace("x", floats(values));
  const auto moved = moved_inputs(inputs, bisect_precision("INT8"), 1);
  ASSERT_THAT(moved, IsOk());
  EXPECT_NE(moved->at("x").as<float>()[0], 0.0F);
  EXPECT_NEAR(moved->at("x").as<float>()[0], 0.0, 10 * kInt8Unit);
}

TEST(IndexText, CountsRowMajor) {
  EXPECT_EQ(index_text(0, {}), "[]");
  EXPECT_EQ(index_text(5, {2, 3}), "[1,2]");
  EXPECT_EQ(index_text(7, {1, 2, 2, 3}), "[0,1,0,1]");
}

}  // namespace
}  // namespace assay::controller
