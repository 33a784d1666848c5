// Copies with rounding noise, run: what the noise is, and how far it comes through.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/testing.h"
#include "cpu_run_test_support.h"
#include "model/onnx_rounding.h"
#include "model/onnx_test_support.h"
#include "tensor/convert.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::testing::body_of;
using assay::testing::CpuModel;
using assay::testing::empty_model;
using assay::testing::floats;
using assay::testing::GraphBuilder;
using assay::testing::IsOk;
using assay::testing::one_tensor;
using assay::testing::OnnxType;
using assay::testing::pixels;
using assay::testing::set_int;
using assay::testing::tensor_of;
using assay::testing::Tensors;
using assay::testing::TestFolder;
using assay::testing::write_onnx;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;

constexpr std::int64_t kCount = 20000;

// y and z are x, by products with 1 that are exact: what differs from x is noise.
onnx::ModelProto ones(int type = OnnxType::FLOAT) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x", type, {-1}).output("y", type, {-1}).output("z", type, {-1});
  graph.weight("weight", {}, {1});
  set_int(graph.node("Cast", {"weight"}, {"one"}), "to", type);
  graph.node("Mul", {"x", "one"}, {"y"});
  graph.node("Mul", {"x", "one"}, {"z"});
  return proto;
}

class RoundingRun : public ::testing::Test {
 protected:
  // Outputs of the first call of a copy in a new session.
  Tensors run(const fs::path& model, const RoundingNoise& noise, const Tensors& inputs) const {
    const auto copy = write_with_rounding_noise(model, folder_ / "copy.onnx", noise);
    EXPECT_THAT(copy, IsOk());
    EXPECT_TRUE(copy.ok() && copy->moved > 0);
    return CpuModel(folder_ / "copy.onnx").run(inputs);
  }
  Tensors run(const onnx::ModelProto& proto, const RoundingNoise& noise,
              const Tensors& inputs) const {
    return run(write_onnx(proto, folder_ / "model.onnx"), noise, inputs);
  }
  Tensors run(const RoundingNoise& noise, const std::vector<float>& x) const {
    return run(ones(), noise, one_tensor(tensor_of({"x", DType::kFloat32, {std::ssize(x)}}, x)));
  }

  TestFolder folder_;
};

// Values of [1, 2).
std::vector<float> one_binade() {
  std::vector<float> values = pixels(kCount);
  for (float& value : values) value += 1.0F;
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<double> times(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> products(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) products[i] = a[i] * b[i];
  return products;
}

// Shifts of y against x in units of `of`.
std::vector<double> shifts(const std::vector<float>& y, const std::vector<float>& x,
                           const std::vector<double>& of) {
  std::vector<double> values(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) values[i] = (double{y[i]} - double{x[i]}) / of[i];
  return values;
}

// ---- what the noise is -------------------------------------------------------------------------

// An element m of [1, 2) moves by round(m r) units, r uniform in [-1, 1). The mean of its size is
// the integral over m of (1 - 1/2m), plus that from 3/2 on of (1 - 3/2m):
// 1 - ln(2)/2 + 1/2 - 3/2 ln(4/3) = 0.722.
TEST_F(RoundingRun, UnitOfFloatMovesByThreeQuartersOfAUnitInTheLastPlace) {
  const std::vector<float> x = one_binade();
  const auto y = floats(run({.unit = kFloat32Unit}, x), "y");
  std::vector<double> sizes;
  std::vector<double> units;
  for (std::size_t i = 0; i < x.size(); ++i) {
    units.push_back(static_cast<double>(std::bit_cast<std::int32_t>(y[i])) -
                    static_cast<double>(std::bit_cast<std::int32_t>(x[i])));
    sizes.push_back(std::fabs(units.back()));
  }
  EXPECT_THAT(sizes, Each(Le(2.0)));
  EXPECT_NEAR(mean_of(sizes), 0.722, 0.02);  // its standard error is 0.005
  EXPECT_NEAR(mean_of(units), 0, 0.03);
}

TEST_F(RoundingRun, HalfAUnitOfFloatWouldRoundAwayForMostElements) {
  const std::vector<float> x = one_binade();
  const auto y = floats(run({.unit = 0x1p-24}, x), "y");
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < x.size(); ++i) moved += y[i] != x[i] ? 1 : 0;
  EXPECT_LT(moved, kCount / 2);
}

TEST_F(RoundingRun, NoiseIsUniformAndNotTheSameForTwoOperators) {
  const std::vector<float> x = one_binade();
  const Tensors outputs = run({.unit = 0x1p-6}, x);
  std::vector<double> of;
  for (const float value : x) of.push_back(double{value} * 0x1p-6);
  const auto y = shifts(floats(outputs, "y"), x, of);
  const auto z = shifts(floats(outputs, "z"), x, of);
  for (const auto& r : {y, z}) {
    EXPECT_THAT(r, Each(AllOf(Ge(-1.0001), Le(1.0001))));
    EXPECT_NEAR(mean_of(r), 0, 0.02);                  // standard error 0.004
    EXPECT_NEAR(mean_of(times(r, r)), 1.0 / 3, 0.02);  // variance of [-1, 1)
  }
  EXPECT_NEAR(mean_of(times(y, z)), 0, 0.02);
}

TEST_F(RoundingRun, TensorScopeMovesEveryElementByTheLargest) {
  std::vector<float> x(kCount, 0.0F);
  x[7] = -64.0F;
  const auto y = floats(run({.unit = 1.0 / 64, .scope = NoiseScope::kTensor}, x), "y");
  const auto r = shifts(y, x, std::vector<double>(x.size(), 1.0));
  EXPECT_THAT(r, Each(AllOf(Ge(-1.0001), Le(1.0001))));
  EXPECT_NEAR(mean_of(r), 0, 0.02);
  EXPECT_NEAR(mean_of(times(r, r)), 1.0 / 3, 0.02);
}

TEST_F(RoundingRun, ValuesThatCannotMoveKeepTheirBits) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  const std::vector<float> x = {0.0F, -0.0F, kInf, -kInf, kMax, -kMax};
  const auto y = floats(run({.unit = kBFloat16Unit}, x), "y");
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(x[i])) << x[i];
  }
}

TEST_F(RoundingRun, MasksAndNanDoNotSpreadInTensorScope) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1.0F, -kInf, std::numeric_limits<float>::lowest(), std::nanf(""),
                                -2.0F};
  const auto y = floats(run({.unit = 0.25, .scope = NoiseScope::kTensor}, x), "y");
  EXPECT_NEAR(y[0], 1.0, 0.5);
  EXPECT_NE(y[0], 1.0F);
  EXPECT_EQ(y[1], -kInf);
  EXPECT_EQ(y[2], std::numeric_limits<float>::lowest());
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_NEAR(y[4], -2.0, 0.5);
}

TEST_F(RoundingRun, EmptyTensorStaysEmptyInBothScopes) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x", OnnxType::FLOAT, {-1}).output("y", OnnxType::FLOAT, {-1});
  graph.integers("none", {0});
  graph.node("Expand", {"x", "none"}, {"empty"});  // [1] to [0]
  graph.node("Exp", {"empty"}, {"y"});
  for (const NoiseScope scope : {NoiseScope::kElement, NoiseScope::kTensor}) {
    const Tensors outputs = run(proto, {.scope = scope},
                                one_tensor(tensor_of<float>({"x", DType::kFloat32, {1}}, {1})));
    EXPECT_EQ(outputs.at("y").spec().shape, Shape{0});
  }
}

TEST_F(RoundingRun, HalfPrecisionMovesAndNeverOverflows) {
  const std::vector<std::uint16_t> x = {float_to_half(1.5F), float_to_half(-65504.0F)};
  std::vector<std::uint16_t> many(1000, x[0]);
  many.push_back(x[1]);
  const Tensors outputs =
      run(ones(OnnxType::FLOAT16), {.unit = 2 * kFloat16Unit},
          one_tensor(tensor_of({"x", DType::kFloat16, {std::ssize(many)}}, many)));
  const auto y = outputs.at("y").as<std::uint16_t>();
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_NEAR(half_to_float(y[i]), 1.5, 0x1p-10 * 2);
    moved += y[i] != x[0] ? 1 : 0;
  }
  EXPECT_GT(moved, 500);  // 2 of 3 are expected: |1.5 r| >= 0.5
  EXPECT_EQ(y[1000], x[1]);
}

TEST_F(RoundingRun, DoublePrecisionMovesInDoublePrecision) {
  const std::vector<double> x(1000, 1.25);
  const Tensors outputs = run(ones(OnnxType::DOUBLE), {.unit = 0x1p-40},
                              one_tensor(tensor_of({"x", DType::kFloat64, {1000}}, x)));
  const auto y = outputs.at("y").as<double>();
  double largest = 0;
  for (const double value : y) largest = std::max(largest, std::fabs(value - 1.25));
  EXPECT_LE(largest, 1.25 * 0x1p-40);
  EXPECT_GT(largest, 1.2 * 0x1p-40);
}

TEST_F(RoundingRun, BranchesOfAnIfAreMoved) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x", OnnxType::FLOAT, {-1}).input("which", OnnxType::BOOL, {});
  graph.output("y", OnnxType::FLOAT, {-1});
  onnx::NodeProto& choice = graph.node("If", {"which"}, {"y"});
  body_of(choice, "then_branch").output("t", OnnxType::FLOAT, {-1}).node("Add", {"x", "x"}, {"t"});
  body_of(choice, "else_branch").output("e", OnnxType::FLOAT, {-1}).node("Neg", {"x"}, {"e"});
  for (const bool which : {false, true}) {
    Tensors inputs = one_tensor(tensor_of<float>({"x", DType::kFloat32, {3}}, {1, 2, 3}));
    inputs.emplace("which", tensor_of<std::uint8_t>({"which", DType::kBool, {}},
                                                    {which ? std::uint8_t{1} : std::uint8_t{0}}));
    const auto y = floats(run(proto, {.unit = 0.125}, inputs), "y");
    for (std::size_t i = 0; i < 3; ++i) {
      const float exact = static_cast<float>(i + 1) * (which ? 2.0F : -1.0F);
      EXPECT_NEAR(y[i], exact, std::fabs(exact) * 0.125);
      EXPECT_EQ(y[i] != exact, which);
    }
  }
}

// ---- how far it comes through ------------------------------------------------------------------

class RoundingOfCnn : public RoundingRun {
 protected:
  static Tensors images() {
    return one_tensor(tensor_of({"input", DType::kFloat32, {1, 1, 28, 28}}, pixels(784)));
  }
  std::vector<float> logits(const RoundingNoise& noise) const {
    return floats(run(model_, noise, images()), "logits");
  }
  // Largest difference relative to the largest logit.
  double error(const RoundingNoise& noise) const {
    const auto moved = logits(noise);
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      largest = std::max(largest, std::fabs(double{exact_[i]}));
      difference = std::max(difference, std::fabs(double{moved[i]} - double{exact_[i]}));
    }
    return difference / largest;
  }

  const fs::path model_ = fs::path(ASSAY_SOURCE_DIR) / "model_zoo/fashion_mnist_cnn.onnx";
  const std::vector<float> exact_ = [this] {
    fs::copy(model_, folder_ / "cnn.onnx");
    return floats(CpuModel(folder_ / "cnn.onnx").run(images()), "logits");
  }();
};

TEST_F(RoundingOfCnn, NoUnitLeavesEveryBit) {
  EXPECT_EQ(logits({.unit = 0}), exact_);
  EXPECT_EQ(logits({.unit = 0, .scope = NoiseScope::kTensor, .weights = true}), exact_);
}

TEST_F(RoundingOfCnn, UnitOfFloatMovesTheLogitsByAboutAMillionth) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    const double moved = error({.seed = seed});
    RecordProperty(fmt::format("seed_{}", seed), fmt::format("{:.3g}", moved));
    EXPECT_GT(moved, 1e-8);
    EXPECT_LT(moved, 1e-5);
  }
}

TEST_F(RoundingOfCnn, SameSeedGivesTheSameInANewSessionAndAnotherSeedDoesNot) {
  const auto first = logits({.seed = 1});
  EXPECT_EQ(logits({.seed = 1}), first);
  EXPECT_NE(logits({.seed = 2}), first);
}

TEST_F(RoundingOfCnn, NoiseGoesOnFromCallToCall) {
  ASSERT_THAT(write_with_rounding_noise(model_, folder_ / "copy.onnx", {}), IsOk());
  CpuModel copy(folder_ / "copy.onnx");
  const auto first = floats(copy.run(images()), "logits");
  EXPECT_NE(floats(copy.run(images()), "logits"), first);
}

// To first order the outputs move in proportion to the unit: by 2^12 here, within the spread of a
// handful of draws.
TEST_F(RoundingOfCnn, ErrorGrowsWithTheUnit) {
  double small = 0;
  double large = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    small += error({.unit = 0x1p-19, .seed = seed});
    large += error({.unit = 0x1p-7, .seed = seed});
  }
  EXPECT_GT(large / small, 4096.0 / 3);
  EXPECT_LT(large / small, 4096.0 * 3);
}

TEST_F(RoundingOfCnn, WeightsAddToTheErrorOfEightBits) {
  double without = 0;
  double with = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    RoundingNoise noise{.unit = kInt8Unit, .seed = seed, .scope = NoiseScope::kTensor};
    without += error(noise);
    noise.weights = true;
    with += error(noise);
  }
  EXPECT_GT(with, without);
  EXPECT_LT(with / 8, 0.5);
}

TEST_F(RoundingOfCnn, QuantisedModelRunsToo) {
  const fs::path model = fs::path(ASSAY_SOURCE_DIR) / "model_zoo/fashion_mnist_cnn_int8.onnx";
  EXPECT_EQ(floats(run(model, {}, images()), "logits").size(), 10U);
}

}  // namespace
}  // namespace assay
