// Cuts, run: one after the other they compute what the whole model computes.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "cpu_run_test_support.h"
#include "model/model.h"
#include "model/onnx_cut.h"
#include "model/onnx_test_support.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::testing::body_of;
using assay::testing::CpuModel;
using assay::testing::empty_model;
using assay::testing::GraphBuilder;
using assay::testing::IsOk;
using assay::testing::one_tensor;
using assay::testing::OnnxType;
using assay::testing::pixels;
using assay::testing::tensor_of;
using assay::testing::Tensors;
using assay::testing::TestFolder;
using assay::testing::write_onnx;

class CutRun : public ::testing::Test {
 protected:
  void use(const fs::path& model) {
    fs::copy(model, model_);
    count_ = std::ssize(*list_operators(model_));
  }
  void use(const onnx::ModelProto& proto) {
    write_onnx(proto, model_);
    count_ = std::ssize(*list_operators(model_));
  }

  // Runs first..last on what `tensors` holds and adds what comes out. False when nothing of the
  // range is used later.
  bool run(std::int64_t first, std::int64_t last, Tensors& tensors) const {
    std::map<std::string, TensorSpec> known;
    for (const auto& [name, tensor] : tensors) known[name] = tensor.spec();
    const fs::path to = folder_ / fmt::format("{}_{}.onnx", first, last);
    const auto made = write_cut(model_, first, last, to, known);
    if (made.status().code() == StatusCode::kInvalidArgument) return false;
    EXPECT_THAT(made, IsOk());
    if (!made.ok()) return false;
    Tensors outputs = CpuModel(to).run(tensors);
    EXPECT_EQ(outputs.size(), made->signature.outputs.size());
    for (auto& [name, tensor] : outputs) tensors.insert_or_assign(name, std::move(tensor));
    return true;
  }

  // Every output of the model is in `tensors`, with the bits of the whole model's.
  void expect_whole(Tensors (*inputs)(), const Tensors& tensors) const {
    for (const auto& [name, whole] : CpuModel(model_).run(inputs())) {
      ASSERT_TRUE(tensors.contains(name)) << name;
      EXPECT_EQ(tensors.at(name).spec(), whole.spec());
      EXPECT_TRUE(std::ranges::equal(tensors.at(name).bytes(), whole.bytes())) << name;
    }
  }

  void expect_halves_equal_the_whole(Tensors (*inputs)()) const {
    for (std::int64_t k = 0; k + 1 < count_; ++k) {
      SCOPED_TRACE(fmt::format("cut after operator {} of {}", k, count_));
      Tensors tensors = inputs();
      run(0, k, tensors);
      run(k + 1, count_ - 1, tensors);
      expect_whole(inputs, tensors);
    }
  }
  void expect_single_operators_equal_the_whole(Tensors (*inputs)()) const {
    Tensors tensors = inputs();
    std::int64_t ran = 0;
    for (std::int64_t k = 0; k < count_; ++k) ran += run(k, k, tensors) ? 1 : 0;
    EXPECT_GT(ran, 1);
    expect_whole(inputs, tensors);
  }

  TestFolder folder_;
  const fs::path model_ = folder_ / "model.onnx";
  std::int64_t count_ = 0;
};

fs::path zoo(const std::string& name) {
  return fs::path(ASSAY_SOURCE_DIR) / "model_zoo" / (name + ".onnx");
}

Tensors image() {
  return one_tensor(tensor_of({"input", DType::kFloat32, {1, 1, 28, 28}}, pixels(784)));
}

TEST_F(CutRun, HalvesOfTheCnnEqualTheWhole) {
  use(zoo("fashion_mnist_cnn"));
  expect_halves_equal_the_whole(image);
}

TEST_F(CutRun, OperatorsOfTheCnnOneByOneEqualTheWhole) {
  use(zoo("fashion_mnist_cnn"));
  expect_single_operators_equal_the_whole(image);
}

// Its weights are computed by operators (DequantizeLinear), which the cuts hold too.
TEST_F(CutRun, OperatorsOfTheQuantisedCnnOneByOneEqualTheWhole) {
  use(zoo("fashion_mnist_cnn_int8"));
  expect_single_operators_equal_the_whole(image);
}

// Types of the ends are inferred alone, shapes left out, as nothing is passed.
TEST_F(CutRun, FirstHalfRunsWithoutAnythingKnown) {
  use(zoo("fashion_mnist_cnn"));
  const fs::path to = folder_ / "half.onnx";
  ASSERT_THAT(write_cut(model_, 0, 5, to), IsOk());
  const Tensors outputs = CpuModel(to).run(image());
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs.begin()->second.spec().shape.size(), 4U);
}

Tensors vector_and_choice() {
  Tensors inputs = one_tensor(tensor_of<float>({"x", DType::kFloat32, {1, 4}}, {1, -2, 3, 0.5F}));
  inputs.emplace("which", tensor_of<std::uint8_t>({"which", DType::kBool, {}}, {1}));
  return inputs;
}

// Branches, a tensor that skips over everything, a shared weight, a sub-graph that captures both
// another operator's output and a weight, an omitted input, an operator without use.
TEST_F(CutRun, GraphWithEveryOddityEqualsTheWhole) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").input("which", OnnxType::BOOL, {}).output("y").output("left");
  graph.weight("w", {4}, {1, 2, 3, 4}).weight("six", {}, {6});
  graph.node("Mul", {"x", "w"}, {"stem"});
  graph.node("Exp", {"stem"}, {"left"});
  graph.node("Neg", {"left"}, {"unused"});
  graph.node("Clip", {"stem", "", "six"}, {"right"});
  onnx::NodeProto& choice = graph.node("If", {"which"}, {"chosen"});
  GraphBuilder then = body_of(choice, "then_branch");
  then.output("t").node("Mul", {"right", "w"}, {"inner"});
  then.node("Add", {"inner", "left"}, {"t"});
  body_of(choice, "else_branch").output("e").node("Neg", {"right"}, {"e"});
  graph.node("Add", {"chosen", "stem"}, {"both"});
  graph.node("Mul", {"both", "w"}, {"y"});
  use(proto);
  expect_halves_equal_the_whole(vector_and_choice);
  expect_single_operators_equal_the_whole(vector_and_choice);
}

}  // namespace
}  // namespace assay
