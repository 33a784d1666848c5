#include "model/onnx_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/testing.h"
#include "model/model.h"
#include "model/onnx_test_support.h"
#include "model/onnx_walk.h"
#include "tensor/convert.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::testing::body_of;
using assay::testing::empty_model;
using assay::testing::GraphBuilder;
using assay::testing::IsOk;
using assay::testing::maker_of;
using assay::testing::OnnxType;
using assay::testing::op_types;
using assay::testing::read_onnx;
using assay::testing::set_int;
using assay::testing::StatusIs;
using assay::testing::TestFolder;
using assay::testing::write_onnx;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The copy of `proto`, and what was said about it.
struct Copy {
  RoundingCopy figures;
  onnx::ModelProto proto;
};
Copy copy_of(const onnx::ModelProto& proto, const RoundingNoise& noise = {}) {
  const TestFolder folder;
  const fs::path from = write_onnx(proto, folder / "model.onnx");
  const auto copy = write_with_rounding_noise(from, folder / "copy.onnx", noise);
  EXPECT_THAT(copy, IsOk());
  if (!copy.ok()) return {};
  EXPECT_THAT(read_model(folder / "copy.onnx", ""), IsOk());
  return {*copy, read_onnx(folder / "copy.onnx")};
}

std::vector<double> seeds_of(const onnx::ModelProto& proto) {
  std::vector<double> seeds;
  for_each_node(proto, [&](const onnx::NodeProto& node) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "seed") seeds.push_back(attribute.f());
    }
  });
  return seeds;
}

// y = x * x, in `type`.
onnx::ModelProto square(int type = OnnxType::FLOAT, std::int64_t opset = 17) {
  onnx::ModelProto proto = empty_model(opset);
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x", type).output("y", type);
  graph.node("Mul", {"x", "x"}, {"y"});
  return proto;
}

// ---- what is moved
// -------------------------------------------------------------------------------

TEST(RoundingNoise, OutputKeepsItsNameAndIsASumWithNoise) {
  const Copy copy = copy_of(square());
  EXPECT_EQ(copy.figures.moved, 1);
  EXPECT_EQ(copy.figures.untyped, 0);
  const auto& graph = copy.proto.graph();
  EXPECT_THAT(op_types(graph), ElementsAre("Constant", "Constant", "Mul", "Abs", "Less", "Where",
                                           "RandomUniformLike", "Mul", "Add"));
  ASSERT_NE(maker_of(graph, "y"), nullptr);
  EXPECT_EQ(maker_of(graph, "y")->op_type(), "Add");
  EXPECT_EQ(maker_of(graph, "y")->input(0), graph.node(2).output(0));
  EXPECT_EQ(graph.input(0).name(), "x");
  EXPECT_EQ(graph.output(0).name(), "y");
}

TEST(RoundingNoise, TensorScopeIsRelativeToTheLargestOverAllAxesInEveryOpset) {
  for (const std::int64_t opset : {13, 20}) {
    const Copy copy = copy_of(square(OnnxType::FLOAT, opset), {.scope = NoiseScope::kTensor});
    const auto& graph = copy.proto.graph();
    const auto types = op_types(graph);
    const auto at = std::find(types.begin(), types.end(), "ReduceMax") - types.begin();
    ASSERT_LT(at, graph.node_size());
    const auto& reduce = graph.node(static_cast<int>(at));
    EXPECT_EQ(reduce.input_size(), 1);  // no axes, in either form: over all of them
    ASSERT_EQ(reduce.attribute_size(), 1);
    EXPECT_EQ(reduce.attribute(0).name(), "keepdims");
    EXPECT_EQ(reduce.attribute(0).i(), 0);
  }
}

TEST(RoundingNoise, HalfPrecisionIsMovedInFloatAndCastBack) {
  const Copy copy = copy_of(square(OnnxType::FLOAT16), {.unit = kFloat16Unit});
  EXPECT_EQ(copy.figures.moved, 1);
  const auto* last = maker_of(copy.proto.graph(), "y");
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->op_type(), "Cast");
  EXPECT_EQ(last->attribute(0).i(), OnnxType::FLOAT16);
}

TEST(RoundingNoise, OperatorsThatCannotRoundAndIntegersAreLeftAlone) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y").output("best", OnnxType::INT64).integers("shape", {-1, 2});
  graph.node("Relu", {"x"}, {"positive"});
  graph.node("Reshape", {"positive", "shape"}, {"pairs"});
  graph.node("Transpose", {"pairs"}, {"y"});
  graph.node("ArgMax", {"y"}, {"best"});
  set_int(graph.node("Cast", {"best"}, {"back"}), "to", OnnxType::FLOAT);
  graph.node("Greater", {"x", "back"}, {"truth"});
  const Copy copy = copy_of(proto);
  EXPECT_EQ(copy.figures.moved, 0);
  EXPECT_EQ(copy.figures.untyped, 0);
  EXPECT_EQ(copy.proto.SerializeAsString(), proto.SerializeAsString());
}

TEST(RoundingNoise, OnlyCastsToACoarserFloatRound) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y");
  set_int(graph.node("Cast", {"x"}, {"half"}), "to", OnnxType::FLOAT16);
  set_int(graph.node("Cast", {"half"}, {"y"}), "to", OnnxType::FLOAT);
  const Copy copy = copy_of(proto);
  EXPECT_EQ(copy.figures.moved, 1);
  EXPECT_EQ(maker_of(copy.proto.graph(), "y")->input(0), "half");
}

// A moved 2.0 could become a dimension of 1.
TEST(RoundingNoise, ArithmeticOnShapesIsLeftAlone) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y").weight("half", {}, {0.5F});
  graph.node("Shape", {"x"}, {"shape"});
  set_int(graph.node("Cast", {"shape"}, {"real"}), "to", OnnxType::FLOAT);
  graph.node("Mul", {"real", "half"}, {"halved"});
  set_int(graph.node("Cast", {"halved"}, {"integral"}), "to", OnnxType::INT64);
  graph.node("ConstantOfShape", {"integral"}, {"zeros"});
  graph.node("MatMul", {"zeros", "x"}, {"y"});
  const Copy copy = copy_of(proto);
  EXPECT_EQ(copy.figures.moved, 1);  // the product alone
  EXPECT_EQ(maker_of(copy.proto.graph(), "halved")->op_type(), "Mul");
}

TEST(RoundingNoise, OutputOfUnknownTypeIsLeftAloneAndCounted) {
  onnx::ModelProto proto = empty_model();
  proto.add_opset_import()->set_domain("com.acme");
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y");
  graph.node("Secret", {"x"}, {"hidden"}).set_domain("com.acme");
  graph.node("Secret", {"hidden"}, {"y"}).set_domain("com.acme");  // declared: known to be float
  const Copy copy = copy_of(proto);
  EXPECT_EQ(copy.figures.untyped, 1);
  EXPECT_EQ(copy.figures.moved, 1);
  EXPECT_EQ(maker_of(copy.proto.graph(), "hidden")->op_type(), "Secret");
}

TEST(RoundingNoise, SubGraphsAreEntered) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").input("which", OnnxType::BOOL, {}).output("y");
  onnx::NodeProto& choice = graph.node("If", {"which"}, {"y"});
  body_of(choice, "then_branch").output("t").node("Exp", {"x"}, {"t"});
  body_of(choice, "else_branch").output("e").node("Neg", {"x"}, {"e"});
  const Copy copy = copy_of(proto);
  EXPECT_EQ(copy.figures.moved, 1);  // neither Neg nor what the If hands on
  const auto& inside = copy.proto.graph().node(copy.proto.graph().node_size() - 1);
  EXPECT_EQ(inside.op_type(), "If");
  EXPECT_EQ(maker_of(inside.attribute(0).g(), "t")->op_type(), "Add");
  EXPECT_THAT(op_types(inside.attribute(1).g()), ElementsAre("Neg"));
}

TEST(RoundingNoise, OmittedOutputsStayOmitted) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x", OnnxType::FLOAT, {2, 1, 4}).output("y", OnnxType::FLOAT, {1, 1, 3});
  graph.weight("w", {1, 12, 4}, std::vector<float>(48, 0.1F));
  graph.weight("r", {1, 12, 3}, std::vector<float>(36, 0.1F));
  set_int(graph.node("LSTM", {"x", "w", "r"}, {"", "y"}), "hidden_size", 3);
  const Copy copy = copy_of(proto);
  EXPECT_EQ(copy.figures.moved, 1);
  const auto types = op_types(copy.proto.graph());
  EXPECT_THAT(types, Contains("LSTM"));
  EXPECT_EQ(copy.proto.graph().node(2).output(0), "");
}

// ---- seeds
// ---------------------------------------------------------------------------------------

TEST(RoundingNoise, SeedsAreDistinctExactAndFollowTheSeed) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("n500");
  graph.node("Exp", {"x"}, {"n0"});
  for (int i = 0; i < 500; ++i) {
    graph.node("Exp", {"n" + std::to_string(i)}, {"n" + std::to_string(i + 1)});
  }
  const auto first = seeds_of(copy_of(proto, {.seed = 7}).proto);
  EXPECT_EQ(std::set<double>(first.begin(), first.end()).size(), 501U);
  for (const double seed : first) {
    EXPECT_EQ(seed, std::floor(seed));
    EXPECT_GE(seed, 0);
    EXPECT_LT(seed, 0x1p24);
  }
  EXPECT_EQ(seeds_of(copy_of(proto, {.seed = 7}).proto), first);
  EXPECT_NE(seeds_of(copy_of(proto, {.seed = 8}).proto), first);
}

TEST(RoundingNoise, CopyOfACopyHasNoNameTwice) {
  const Copy twice = copy_of(copy_of(square()).proto);
  std::set<std::string> names;
  for (const auto& node : twice.proto.graph().node()) {
    for (const std::string& output : node.output()) EXPECT_TRUE(names.insert(output).second);
  }
  EXPECT_GT(twice.figures.moved, 1);
}

// ---- weights
// -------------------------------------------------------------------------------------

onnx::ModelProto gemm_with_weights() {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y").weight("w", {4, 4}, std::vector<float>(16, 2.0F));
  graph.weight("b", {4}, {1, 1, 1, 1}).weight("other", {4}, {3, 3, 3, 3});
  proto.mutable_graph()->mutable_initializer(0)->set_float_data(0, -8.0F);
  graph.node("Transpose", {"w"}, {"turned"});
  graph.node("Gemm", {"x", "turned", "b"}, {"sum"});
  graph.node("Add", {"sum", "other"}, {"y"});
  return proto;
}

std::vector<float> floats_of(const onnx::TensorProto& tensor) {
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  if (!values.empty())
    std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
  values.insert(values.end(), tensor.float_data().begin(), tensor.float_data().end());
  return values;
}

TEST(RoundingNoiseWeights, StayWithoutTheOption) {
  const Copy copy = copy_of(gemm_with_weights());
  EXPECT_EQ(copy.figures.weights, 0);
  EXPECT_EQ(floats_of(copy.proto.graph().initializer(0))[1], 2.0F);
}

TEST(RoundingNoiseWeights, ElementScopeMovesWeightsAndBiasesByTheirOwnSize) {
  const Copy copy = copy_of(gemm_with_weights(), {.unit = 0.25, .weights = true});
  EXPECT_EQ(copy.figures.weights, 2);  // w, through Transpose, and b; not what Add adds
  const auto w = floats_of(copy.proto.graph().initializer(0));
  ASSERT_EQ(w.size(), 16U);
  EXPECT_THAT(w[0], AllOf(::testing::Ge(-10.0F), ::testing::Le(-6.0F)));
  EXPECT_THAT(std::vector<float>(w.begin() + 1, w.end()),
              Each(AllOf(::testing::Ge(1.5F), ::testing::Le(2.5F))));
  EXPECT_GT(std::set<float>(w.begin(), w.end()).size(), 10U);
  EXPECT_THAT(floats_of(copy.proto.graph().initializer(1)), Not(Contains(1.0F)));
  EXPECT_THAT(floats_of(copy.proto.graph().initializer(2)), Each(3.0F));
}

TEST(RoundingNoiseWeights, TensorScopeMovesByTheLargestAndLeavesBiases) {
  const Copy copy =
      copy_of(gemm_with_weights(), {.unit = 0.25, .scope = NoiseScope::kTensor, .weights = true});
  EXPECT_EQ(copy.figures.weights, 1);
  const auto w = floats_of(copy.proto.graph().initializer(0));
  EXPECT_THAT(std::vector<float>(w.begin() + 1, w.end()),
              Each(AllOf(::testing::Ge(0.0F), ::testing::Le(4.0F))));  // 2 +- 8 / 4
  const auto [low, high] = std::minmax_element(w.begin() + 1, w.end());
  EXPECT_GT(*high - *low, 2.0F);  // 15 values over a width of 4
  EXPECT_THAT(floats_of(copy.proto.graph().initializer(1)), Each(1.0F));
}

TEST(RoundingNoiseWeights, HalfPrecisionStaysHalfPrecision) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x", OnnxType::FLOAT16).output("y", OnnxType::FLOAT16);
  onnx::TensorProto& w = *proto.mutable_graph()->add_initializer();
  w.set_name("w");
  w.set_data_type(OnnxType::FLOAT16);
  w.add_dims(4);
  w.add_dims(1);
  for (int i = 0; i < 4; ++i) w.add_int32_data(0x3C00);  // 1.0
  graph.node("MatMul", {"x", "w"}, {"y"});
  const Copy copy = copy_of(proto, {.unit = 0.5, .weights = true});
  const std::string& raw = copy.proto.graph().initializer(0).raw_data();
  ASSERT_EQ(raw.size(), 8U);
  EXPECT_EQ(copy.proto.graph().initializer(0).int32_data_size(), 0);
  for (std::size_t at = 0; at < raw.size(); at += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, raw.data() + at, sizeof bits);
    EXPECT_THAT(half_to_float(bits), AllOf(::testing::Ge(0.5F), ::testing::Le(1.5F)));
    EXPECT_NE(bits, 0x3C00);
  }
}

// ---- files and bad requests
// ------------------------------------------------------------------------

TEST(RoundingNoiseFile, ExternalDataComesIntoTheCopy) {
  const TestFolder folder;
  const fs::path model = fs::path(ASSAY_SOURCE_DIR) / "tests/data/models/external/model.onnx";
  ASSERT_THAT(write_with_rounding_noise(model, folder / "copy.onnx", {}), IsOk());
  const auto read = read_model(folder / "copy.onnx", "");
  ASSERT_THAT(read, IsOk());
  EXPECT_TRUE(read->external_files.empty());
  // Four floats from offset 4 of a file of 20 bytes.
  const onnx::ModelProto copy = read_onnx(folder / "copy.onnx");
  EXPECT_EQ(copy.graph().initializer(0).raw_data(),
            read_file(model.parent_path() / "w.bin")->substr(4));
}

TEST(RoundingNoiseFile, MoreThanTwoGigabytesAreRefusedBeforeTheyAreRead) {
  const TestFolder folder;
  onnx::ModelProto proto = square();
  onnx::TensorProto& w = *proto.mutable_graph()->add_initializer();
  w.set_name("w");
  w.set_data_type(OnnxType::FLOAT);
  w.add_dims(550'000'000);
  w.set_data_location(OnnxType::EXTERNAL);
  auto& location = *w.add_external_data();
  location.set_key("location");
  location.set_value("large.bin");
  write_onnx(proto, folder / "large.onnx");
  ASSERT_THAT(write_file_atomic(folder / "large.bin", ""), IsOk());
  fs::resize_file(folder / "large.bin", 2'200'000'000);  // sparse: takes no room on disk
  EXPECT_THAT(write_with_rounding_noise(folder / "large.onnx", folder / "copy.onnx", {}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("2 GiB")));
  EXPECT_FALSE(fs::exists(folder / "copy.onnx"));
}

TEST(RoundingNoiseFile, UnitOutsideItsRangeIsRefused) {
  const TestFolder folder;
  const fs::path model = write_onnx(square(), folder / "model.onnx");
  for (const double unit : {-0x1p-23, 1.5, std::nan("")}) {
    EXPECT_THAT(write_with_rounding_noise(model, folder / "copy.onnx", {.unit = unit}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected 0 to 1")));
  }
}

TEST(RoundingNoiseFile, OldOpsetNamesBothSides) {
  const TestFolder folder;
  const fs::path model = write_onnx(square(OnnxType::FLOAT, 8), folder / "model.onnx");
  EXPECT_THAT(write_with_rounding_noise(model, folder / "copy.onnx", {}),
              StatusIs(StatusCode::kUnimplemented,
                       AllOf(HasSubstr("opset 9"), HasSubstr("got 8"), HasSubstr("model.onnx"))));
}

TEST(RoundingNoiseFile, DamagedModelIsDataLoss) {
  const TestFolder folder;
  ASSERT_THAT(write_file_atomic(folder / "text.onnx", "<!DOCTYPE html>"), IsOk());
  EXPECT_THAT(write_with_rounding_noise(folder / "text.onnx", folder / "copy.onnx", {}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("text.onnx")));
}

}  // namespace
}  // namespace assay
