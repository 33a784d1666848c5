#include "drill/case.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/testing.h"
#include "host/host_test_support.h"

namespace assay::drill {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using host::testing::tensor_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Case doubling(float value) {
  Case one;
  one.inputs.push_back(tensor_of<float>("x", DType::kFloat32, {1, 2}, {value, value + 1}));
  one.outputs.push_back(tensor_of<float>("y", DType::kFloat32, {1, 1}, {2 * value}));
  return one;
}

TEST(Case, CrossesAsJson) {
  const auto back = case_from_json(to_json(doubling(3)));
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(difference(back->inputs, doubling(3).inputs), "");
  EXPECT_EQ(difference(back->outputs, doubling(3).outputs), "");
}

TEST(Case, WithTooFewBytesIsDataLoss) {
  Json json = to_json(doubling(3));
  json["inputs"][0]["bytes"].erase(0);
  EXPECT_THAT(case_from_json(json), StatusIs(StatusCode::kDataLoss, HasSubstr("got 7 bytes")));
}

TEST(Case, SamplesAreStackedRoundAndRound) {
  std::vector<Case> samples;
  samples.push_back(doubling(1));
  samples.push_back(doubling(5));
  const auto batch = batch_of(samples, 1, 3);
  ASSERT_THAT(batch, IsOk());
  EXPECT_EQ(batch->inputs[0].spec().shape, (Shape{3, 2}));
  EXPECT_THAT(batch->inputs[0].as<float>(), ElementsAre(5, 6, 1, 2, 5, 6));
  EXPECT_THAT(batch->outputs[0].as<float>(), ElementsAre(10, 2, 10));
}

TEST(Difference, NamesTheFirstByte) {
  Case wrong = doubling(3);
  wrong.outputs[0].bytes()[2] = std::byte{0x41};
  EXPECT_EQ(difference(wrong.outputs, doubling(3).outputs),
            "output \"y\", byte 2 of 4: got 0x41, wanted 0xc0");
  EXPECT_THAT(difference({}, doubling(3).outputs), HasSubstr("got 0 outputs, wanted 1"));
}

TEST(TensorWith, HasExactValuesOfItsDtype) {
  const auto floats = tensor_with({"x", DType::kFloat32, {4}}, {});
  ASSERT_THAT(floats, IsOk());
  EXPECT_THAT(floats->as<float>(), ElementsAre(0, 1, 0.5F, 2));
  const auto moved = tensor_with({"x", DType::kFloat64, {2}}, {.seed = 2});
  EXPECT_THAT(moved->as<double>(), ElementsAre(0.5, 2));
  const auto extreme = tensor_with({"x", DType::kInt8, {2}}, {.seed = 4, .extremes = true});
  EXPECT_THAT(extreme->as<std::int8_t>(), ElementsAre(127, -128));
}

}  // namespace
}  // namespace assay::drill
