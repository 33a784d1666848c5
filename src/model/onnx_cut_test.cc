#include "model/onnx_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "model/model.h"
#include "model/onnx_test_support.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::testing::body_of;
using assay::testing::empty_model;
using assay::testing::GraphBuilder;
using assay::testing::IsOk;
using assay::testing::OnnxType;
using assay::testing::op_types;
using assay::testing::read_onnx;
using assay::testing::set_int;
using assay::testing::StatusIs;
using assay::testing::TestFolder;
using assay::testing::write_onnx;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

Names names_of(const std::vector<TensorSpec>& specs) {
  Names names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

// A model in a folder of its own, and cuts of it.
class Cut : public ::testing::Test {
 protected:
  void use(const onnx::ModelProto& proto) { write_onnx(proto, model()); }
  fs::path model() const { return folder_ / "model.onnx"; }
  fs::path to() const { return folder_ / "cut.onnx"; }

  Result<CutModel> try_cut(std::int64_t first, std::int64_t last,
                           const std::map<std::string, TensorSpec>& known = {}) const {
    return write_cut(model(), first, last, to(), known);
  }
  CutModel cut(std::int64_t first, std::int64_t last,
               const std::map<std::string, TensorSpec>& known = {}) {
    const auto made = try_cut(first, last, known);
    EXPECT_THAT(made, IsOk());
    if (!made.ok()) return {};
    EXPECT_THAT(read_model(to(), ""), IsOk());
    graph_ = read_onnx(to()).graph();
    return *made;
  }
  Names weights() const {
    Names names;
    for (const auto& tensor : graph_.initializer()) names.push_back(tensor.name());
    return names;
  }

  onnx::GraphProto graph_;  // of the last cut

 private:
  TestFolder folder_;
};

// 0 stem = x * w, 1 left = exp(stem), 2 right = stem + w, 3 both = left + right, 4 y = both + stem
onnx::ModelProto branches() {
  onnx::ModelProto proto = empty_model();
  GraphBuilder build(proto.mutable_graph());
  build.input("x").output("y").weight("w", {4}, {1, 2, 3, 4});
  build.node("Mul", {"x", "w"}, {"stem"});
  build.node("Exp", {"stem"}, {"left"});
  build.node("Add", {"stem", "w"}, {"right"});
  build.node("Add", {"left", "right"}, {"both"});
  build.node("Add", {"both", "stem"}, {"y"});
  return proto;
}

// ---- the list
// --------------------------------------------------------------------------------------

TEST_F(Cut, ListNamesOperatorsAndWhatTheyReadAndMake) {
  onnx::ModelProto proto = branches();
  proto.mutable_graph()->mutable_node(1)->set_domain("com.acme");
  use(proto);
  const auto list = list_operators(model());
  ASSERT_THAT(list, IsOk());
  ASSERT_EQ(list->size(), 5U);
  const OperatorInfo& right = (*list)[2];
  EXPECT_EQ(right.index, 2);
  EXPECT_EQ(right.name, "Add/right");
  EXPECT_EQ(right.op_type, "Add");
  EXPECT_THAT(right.inputs, ElementsAre("stem", "w"));
  EXPECT_THAT(right.outputs, ElementsAre("right"));
  EXPECT_TRUE(right.used);
  EXPECT_FALSE(right.constant);
  EXPECT_EQ((*list)[1].op_type, "com.acme.Exp");
}

TEST_F(Cut, ListRefusesAnOrderThatIsNone) {
  onnx::ModelProto proto = branches();
  proto.mutable_graph()->mutable_node()->SwapElements(0, 1);
  use(proto);
  EXPECT_THAT(
      list_operators(model()),
      StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("operator 0 (Exp"), HasSubstr("\"stem\""))));
}

// ---- ends of a cut
// -----------------------------------------------------------------------------------

TEST_F(Cut, PrefixTakesTheModelsInputsAndGivesWhatIsUsedLater) {
  use(branches());
  const CutModel made = cut(0, 2);
  EXPECT_EQ(made.operators, 3);
  EXPECT_THAT(made.signature.inputs, ElementsAre(TensorSpec{"x", DType::kFloat32, {-1, 4}}));
  EXPECT_THAT(names_of(made.signature.outputs), ElementsAre("stem", "left", "right"));
  EXPECT_THAT(op_types(graph_), ElementsAre("Mul", "Exp", "Add"));
}

TEST_F(Cut, SuffixTakesTensorsThatSkipOverTheCut) {
  use(branches());
  const CutModel made = cut(3, 4);
  EXPECT_THAT(names_of(made.signature.inputs), ElementsAre("stem", "left", "right"));
  EXPECT_THAT(made.signature.outputs, ElementsAre(TensorSpec{"y", DType::kFloat32, {-1, 4}}));
  EXPECT_THAT(weights(), IsEmpty());
}

TEST_F(Cut, OneOperatorIsTheMinimalModel) {
  use(branches());
  const CutModel made = cut(2, 2);
  EXPECT_EQ(made.operators, 1);
  EXPECT_THAT(names_of(made.signature.inputs), ElementsAre("stem"));
  EXPECT_THAT(names_of(made.signature.outputs), ElementsAre("right"));
  EXPECT_THAT(weights(), ElementsAre("w"));  // shared with operator 0
}

TEST_F(Cut, WholeModelHasItsOwnEnds) {
  use(branches());
  const CutModel made = cut(0, 4);
  EXPECT_THAT(names_of(made.signature.inputs), ElementsAre("x"));
  EXPECT_THAT(names_of(made.signature.outputs), ElementsAre("y"));
  EXPECT_EQ(made.operators, 5);
}

TEST_F(Cut, OutputOfTheModelInTheMiddleIsAnOutputOfTheCut) {
  onnx::ModelProto proto = branches();
  GraphBuilder(proto.mutable_graph()).output("left");
  use(proto);
  EXPECT_THAT(names_of(cut(0, 3).signature.outputs), ElementsAre("stem", "left", "both"));
  EXPECT_THAT(names_of(cut(4, 4).signature.outputs), ElementsAre("y"));
}

TEST_F(Cut, OperatorsThatNothingUsesAreLeftOut) {
  onnx::ModelProto proto = branches();
  GraphBuilder(proto.mutable_graph()).node("Neg", {"both"}, {"unused"});
  use(proto);
  EXPECT_FALSE(list_operators(model())->back().used);
  EXPECT_EQ(cut(3, 5).operators, 2);
  EXPECT_THAT(names_of(cut(3, 3).signature.outputs), ElementsAre("both"));
  EXPECT_THAT(try_cut(5, 5), StatusIs(StatusCode::kInvalidArgument, HasSubstr("operators 5..5")));
}

TEST_F(Cut, RangeOutsideTheModelNamesBothSides) {
  use(branches());
  for (const auto& [first, last] : std::vector<std::pair<int, int>>{{-1, 2}, {3, 2}, {0, 5}}) {
    EXPECT_THAT(try_cut(first, last), StatusIs(StatusCode::kOutOfRange, HasSubstr("has 5")));
  }
}

// ---- weights
// ---------------------------------------------------------------------------------------

// 0 scale = Constant, 1 wide = Cast(w8), 2 w = wide * scale, 3 a = x * w, 4 y = a * w
TEST_F(Cut, WeightsThatAreComputedStayWeights) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder build(proto.mutable_graph());
  build.input("x").output("y").integers("w8", {1, 2, 3, 4});
  auto& attribute = testing::add_attribute(build.node("Constant", {}, {"scale"}), "value_float");
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(0.5F);
  set_int(build.node("Cast", {"w8"}, {"wide"}), "to", OnnxType::FLOAT);
  build.node("Mul", {"wide", "scale"}, {"w"});
  build.node("Mul", {"x", "w"}, {"a"});
  build.node("Mul", {"a", "w"}, {"y"});
  use(proto);

  const auto list = list_operators(model());
  EXPECT_TRUE((*list)[0].constant && (*list)[1].constant && (*list)[2].constant);
  EXPECT_FALSE((*list)[3].constant);
  const CutModel last = cut(4, 4);
  EXPECT_THAT(names_of(last.signature.inputs), ElementsAre("a"));
  EXPECT_THAT(op_types(graph_), ElementsAre("Constant", "Cast", "Mul", "Mul"));
  EXPECT_THAT(weights(), ElementsAre("w8"));
  EXPECT_THAT(names_of(cut(0, 3).signature.outputs), ElementsAre("a"));
  EXPECT_THAT(try_cut(0, 2), StatusIs(StatusCode::kInvalidArgument, HasSubstr("operators 0..2")));
}

TEST_F(Cut, RandomValuesAreNoWeights) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder build(proto.mutable_graph());
  build.input("x").output("y");
  build.node("RandomNormal", {}, {"noise"});
  build.node("Add", {"x", "noise"}, {"y"});
  use(proto);
  EXPECT_THAT(names_of(cut(1, 1).signature.inputs), ElementsAre("x", "noise"));
}

TEST_F(Cut, InitialisersThatOldFilesListAmongTheInputsStayThere) {
  onnx::ModelProto proto = branches();
  proto.set_ir_version(3);
  GraphBuilder(proto.mutable_graph()).input("w", OnnxType::FLOAT, {4});
  use(proto);
  const CutModel made = cut(2, 3);
  EXPECT_THAT(names_of(made.signature.inputs), ElementsAre("stem", "left"));
  EXPECT_EQ(graph_.input_size(), 3);
  EXPECT_EQ(graph_.input(2).name(), "w");
}

TEST_F(Cut, ExternalDataComesIntoTheFile) {
  const fs::path source = fs::path(ASSAY_SOURCE_DIR) / "tests/data/models/external/model.onnx";
  ASSERT_THAT(write_cut(source, 0, 0, to()), IsOk());
  const auto read = read_model(to(), "");
  ASSERT_THAT(read, IsOk());
  EXPECT_TRUE(read->external_files.empty());
}

// ---- sub-graphs and omitted inputs
// -------------------------------------------------------------------

// 0 limit = exp(x), 1 a = x + x, 2 y = if which: clip(a, , limit) else a
TEST_F(Cut, NamesThatSubGraphsCaptureAreInputs) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder build(proto.mutable_graph());
  build.input("x").input("which", OnnxType::BOOL, {}).output("y");
  build.node("Exp", {"x"}, {"limit"});
  build.node("Add", {"x", "x"}, {"a"});
  onnx::NodeProto& choice = build.node("If", {"which"}, {"y"});
  body_of(choice, "then_branch").output("t").node("Min", {"a", "limit"}, {"t"});
  GraphBuilder otherwise = body_of(choice, "else_branch");
  otherwise.output("e").node("Abs", {"a"}, {"inner"});
  otherwise.node("Neg", {"inner"}, {"e"});
  use(proto);
  EXPECT_THAT((*list_operators(model()))[2].inputs, ElementsAre("which", "a", "limit"));
  EXPECT_THAT(names_of(cut(2, 2).signature.inputs), ElementsAre("which", "limit", "a"));
  EXPECT_THAT(names_of(cut(0, 1).signature.outputs), ElementsAre("limit", "a"));
}

TEST_F(Cut, OmittedInputsStayOmitted) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder build(proto.mutable_graph());
  build.input("x").output("y").weight("six", {}, {6});
  build.node("Exp", {"x"}, {"a"});
  build.node("Clip", {"a", "", "six"}, {"y"});
  use(proto);
  EXPECT_THAT((*list_operators(model()))[1].inputs, ElementsAre("a", "six"));
  EXPECT_THAT(names_of(cut(1, 1).signature.inputs), ElementsAre("a"));
  EXPECT_EQ(graph_.node(0).input(1), "");
}

// ---- types of the ends
// -------------------------------------------------------------------------------

TEST_F(Cut, TypesOfTheEndsAreInferredWhereNothingDeclaresThem) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder build(proto.mutable_graph());
  build.input("x", OnnxType::FLOAT16).output("y", OnnxType::FLOAT16);
  build.node("ArgMax", {"x"}, {"best"});
  build.node("Shape", {"best"}, {"shape"});
  build.node("Expand", {"x", "shape"}, {"wide"});
  build.node("Gather", {"wide", "best"}, {"y"});
  use(proto);
  const CutModel made = cut(3, 3);
  EXPECT_THAT(made.signature.inputs, ElementsAre(TensorSpec{"best", DType::kInt64, {}},
                                                 TensorSpec{"wide", DType::kFloat16, {}}));
  EXPECT_FALSE(graph_.input(0).type().tensor_type().has_shape());
}

TEST_F(Cut, DeclaredTypesKeepTheirShapes) {
  onnx::ModelProto proto = branches();
  testing::set_tensor(*proto.mutable_graph()->add_value_info(), "stem", OnnxType::FLOAT, {-1, 4});
  use(proto);
  EXPECT_THAT(cut(1, 1).signature.inputs,
              ElementsAre(TensorSpec{"stem", DType::kFloat32, {-1, 4}}));
}

TEST_F(Cut, UnknownTypeHasToBePassed) {
  onnx::ModelProto proto = branches();
  proto.add_opset_import()->set_domain("com.acme");
  proto.mutable_graph()->mutable_node(0)->set_domain("com.acme");
  use(proto);
  EXPECT_THAT(try_cut(1, 1), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("\"stem\"")));
  const TensorSpec stem{"stem", DType::kFloat32, {1, 4}};
  const TensorSpec left{"left", DType::kFloat32, {1, 4}};
  EXPECT_THAT(cut(1, 1, {{"stem", stem}, {"left", left}}).signature.inputs, ElementsAre(stem));
}

TEST_F(Cut, KnownTypeThatContradictsTheModelIsRefused) {
  use(branches());
  EXPECT_THAT(try_cut(0, 0, {{"stem", {"stem", DType::kFloat16, {1, 4}}}}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"stem\": FLOAT16"), HasSubstr("FLOAT"))));
}

TEST_F(Cut, HeaderOfTheModelIsKept) {
  onnx::ModelProto proto = branches();
  proto.set_producer_name("somebody");
  proto.add_opset_import()->set_domain("com.acme");
  auto& property = *proto.add_metadata_props();
  property.set_key("licence");
  property.set_value("MIT");
  proto.add_functions()->set_name("Twice");
  use(proto);
  cut(1, 3);
  onnx::ModelProto made = read_onnx(to());
  made.mutable_graph()->Clear();
  proto.mutable_graph()->Clear();
  EXPECT_EQ(made.SerializeAsString(), proto.SerializeAsString());
}

}  // namespace
}  // namespace assay
