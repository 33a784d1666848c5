// Bisections from request to folder. WRAPPER is the CPU backend with a fault in the models that it
// compiles, cut ones too.

#include "controller/bisect.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_file.h"
#include "base/json_schema.h"
#include "base/testing.h"
#include "controller/run.h"
#include "model/onnx_cut.h"
#include "model/onnx_test_support.h"

namespace assay::controller {
namespace {

namespace fs = std::filesystem;
using assay::testing::empty_model;
using assay::testing::GraphBuilder;
using assay::testing::IsOk;
using assay::testing::read_onnx;
using assay::testing::StatusIs;
using assay::testing::TestFolder;
using assay::testing::write_onnx;
using ::testing::HasSubstr;

class BisectTest : public ::testing::Test {
 protected:
  BisectTest() {
    environment_.installation.root = ASSAY_SOURCE_DIR;
    environment_.installation.workloads = fs::path(ASSAY_SOURCE_DIR) / "workloads";
    environment_.installation.model_zoo = fs::path(ASSAY_SOURCE_DIR) / "model_zoo";
    environment_.installation.datasets = fs::path(ASSAY_SOURCE_DIR) / "datasets";
    environment_.installation.backends = {fs::path(ASSAY_BINARY_DIR) / "test_backends",
                                          fs::path(ASSAY_BINARY_DIR) / "backends"};
    environment_.installation.worker = fs::path(ASSAY_BINARY_DIR) / "bin" / "assay-worker";
    environment_.installation.cache = folder_ / "cache";
    environment_.observer = &observer_;
    environment_.stop = &stop_;
  }

  void use(const onnx::ModelProto& proto) { model_ = write_onnx(proto, folder_ / "model.onnx"); }
  void use_cnn() { model_ = fs::path(ASSAY_SOURCE_DIR) / "model_zoo" / "fashion_mnist_cnn.onnx"; }

  BisectRequest request(const std::vector<std::string>& options,
                        const std::string& hardware = "WRAPPER") const {
    BisectRequest made;
    made.run.model = model_;
    made.run.hardware_type = hardware;
    made.run.set_options = options;
    made.run.workloads_folder = environment_.installation.workloads;
    made.run.model_zoo_folder = environment_.installation.model_zoo;
    made.run.output = folder_ / "results";
    return made;
  }

  // The record, once a bisection has been made.
  Json find(const std::vector<std::string>& options, const std::string& hardware = "WRAPPER") {
    Result<BisectSummary> found = bisect(request(options, hardware), environment_);
    EXPECT_THAT(found, IsOk());
    if (!found.ok()) return Json::object();
    summary_ = *std::move(found);
    EXPECT_NE(bisect_text(summary_), "");
    expect_valid_record();
    return summary_.result.get();
  }

  // What lies in the folder is what the summary holds, and what the schema says.
  void expect_valid_record() const {
    const auto file = JsonFile::read(summary_.folder / "bisect.json");
    ASSERT_THAT(file, IsOk());
    EXPECT_EQ(file->value(), summary_.result.get());
    const auto schema = JsonSchema::compile(
        *read_file(fs::path(ASSAY_SOURCE_DIR) / "schemas" / "bisect.schema.json"));
    ASSERT_THAT(schema, IsOk());
    EXPECT_THAT(to_status(schema->check(*file)), IsOk());
  }

  int repeat(const std::vector<std::string>& options) {
    RepeatRequest again;
    again.folder = summary_.folder;
    again.run.hardware_type = "WRAPPER";
    again.run.set_options = options;
    const Result<BisectSummary> found = repeat_bisect(again, environment_);
    EXPECT_THAT(found, IsOk());
    if (!found.ok()) return -1;
    EXPECT_NE(repeat_text(*found), "");
    return found->exit_code;
  }

  // A fault in the operator that makes `tensor` is found there.
  void expect_found(const std::string& tensor) {
    SCOPED_TRACE(tensor);
    const Json record = find({"fault=wrong_operator", "fault_tensor=" + tensor});
    EXPECT_EQ(summary_.exit_code, kExitNotMet);
    ASSERT_EQ(record["verdict"], "operator") << record.dump(1);
    EXPECT_EQ(record["finding"]["operator"]["outputs"], Json::array({tensor}));
    EXPECT_EQ(record["finding"]["worst"]["tensor"], tensor);
    EXPECT_EQ(record["finding"]["uncertainty"]["certain"], true);
  }

  TestFolder folder_;
  std::atomic<bool> stop_{false};
  RunObserver observer_;
  RunEnvironment environment_;
  fs::path model_;
  BisectSummary summary_;
};

// x -> stem -> (left, left_2), (right, right_2) -> join -> y, which the stem skips to as well.
onnx::ModelProto branches() {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y").weight("w", {4}, {1, 2, 3, 4});
  graph.node("Mul", {"x", "w"}, {"stem"});
  graph.node("Exp", {"stem"}, {"left"});
  graph.node("Sigmoid", {"stem"}, {"right"});
  graph.node("Neg", {"left"}, {"left_2"});
  graph.node("Add", {"right", "w"}, {"right_2"});
  graph.node("Add", {"left_2", "right_2"}, {"join"});
  graph.node("Add", {"join", "stem"}, {"y"});
  return proto;
}

// `count` products, by 1.1 and 0.9 in turn.
onnx::ModelProto chain(int count) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").weight("up", {4}, {1.1F, 1.2F, 1.3F, 1.4F}).weight("down", {}, {0.8F});
  for (int i = 0; i < count; ++i) {
    graph.node("Mul", {i == 0 ? "x" : fmt::format("t{}", i - 1), i % 2 == 0 ? "up" : "down"},
               {fmt::format("t{}", i)});
  }
  graph.output(fmt::format("t{}", count - 1));
  return proto;
}

TEST_F(BisectTest, WrongOperatorInTheMiddleOfAModelIsFound) {
  use_cnn();
  const std::vector<OperatorInfo> operators = *list_operators(model_);
  expect_found(operators[operators.size() / 2].outputs.front());
  const Json& record = summary_.result.get();
  EXPECT_EQ(record["finding"]["first"], record["finding"]["last"]);
  // The largest element is off by a hundredth, and it is one of these.
  const Json& worst = record["finding"]["worst"];
  EXPECT_NEAR(worst["max_abs"].get<double>(), 0.01 * worst["reference_magnitude"].get<double>(),
              1e-5);
  EXPECT_LT(worst["tolerance"].get<double>(), 1e-3 * worst["max_abs"].get<double>());
}

TEST_F(BisectTest, MinimalModelIsTheOperatorAndDeviatesAgain) {
  use_cnn();
  const std::vector<OperatorInfo> operators = *list_operators(model_);
  const OperatorInfo& wrong = operators[operators.size() / 2];
  const std::string tensor = "fault_tensor=" + wrong.outputs.front();
  find({"fault=wrong_operator", tensor});
  const onnx::ModelProto minimal = read_onnx(summary_.folder / "minimal.onnx");
  ASSERT_EQ(minimal.graph().node_size(), 1);
  EXPECT_EQ(minimal.graph().node(0).output(0), wrong.outputs.front());
  for (const char* name : {"bisect.json", "input.tensors", "expected.tensors", "got.tensors",
                           "input_0.npy", "expected_0.npy", "got_0.npy"}) {
    EXPECT_TRUE(fs::exists(summary_.folder / name)) << name;
  }
  EXPECT_EQ(repeat({"fault=wrong_operator", tensor}), kExitNotMet);
  EXPECT_EQ(repeat({"fault=none"}), kExitMet);
}

TEST_F(BisectTest, OverflowOfHalfPrecisionIsFoundAndRoundingIsNot) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y");
  graph.weight("three", {}, {3}).weight("many", {}, {200}).weight("thousandth", {}, {0.001F});
  graph.node("Sigmoid", {"x"}, {"a"});       // 0.5 to 1: rounds in FP16
  graph.node("Add", {"a", "three"}, {"b"});  // 3.5 to 4
  graph.node("Mul", {"b", "many"}, {"c"});   // 700 to 800
  graph.node("Mul", {"c", "c"}, {"d"});      // 490,000 to 640,000: FP16 ends at 65,504
  graph.node("Sqrt", {"d"}, {"e"});
  graph.node("Mul", {"e", "thousandth"}, {"y"});
  use(proto);
  const Json record = find({"fault=half"});
  EXPECT_EQ(record["precision"]["name"], "FP16");
  ASSERT_EQ(record["verdict"], "operator") << record.dump(1);
  EXPECT_EQ(record["finding"]["operator"]["outputs"], Json::array({"d"}));
  EXPECT_EQ(record["finding"]["worst"]["nonfinite_mismatches"], 4);
  EXPECT_EQ(record["finding"]["worst"]["got"], "Infinity");
}

TEST_F(BisectTest, HalfPrecisionAloneIsWithinItsTolerance) {
  use_cnn();
  const Json record = find({"fault=half"});
  EXPECT_EQ(record["verdict"], "within") << record.dump(1);
  EXPECT_EQ(summary_.exit_code, kExitMet);
}

TEST_F(BisectTest, WrongOperatorOnOneBranchIsFound) {
  use(branches());
  expect_found("left");
  expect_found("right_2");
}

TEST_F(BisectTest, WrongOperatorWhereBranchesMeetIsFound) {
  use(branches());
  expect_found("join");
}

// -x, however wrong, is 0 behind Relu: what leaves the model is right.
TEST_F(BisectTest, ErrorThatALaterOperatorRepairsDoesNotShow) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y");
  graph.node("Abs", {"x"}, {"positive"});
  graph.node("Neg", {"positive"}, {"negative"});
  graph.node("Relu", {"negative"}, {"zero"});
  graph.node("Add", {"zero", "x"}, {"y"});
  use(proto);
  const Json record = find({"fault=wrong_operator", "fault_tensor=negative"});
  EXPECT_EQ(record["verdict"], "within");
  EXPECT_EQ(summary_.exit_code, kExitMet);
  EXPECT_TRUE(record["finding"].is_null());
  EXPECT_FALSE(fs::exists(summary_.folder / "minimal.onnx"));
}

// The same with a way around the Relu: the error shows, and is found where it starts.
TEST_F(BisectTest, ErrorThatIsRepairedOnOneBranchOnlyIsFound) {
  onnx::ModelProto proto = empty_model();
  GraphBuilder graph(proto.mutable_graph());
  graph.input("x").output("y");
  graph.node("Exp", {"x"}, {"positive"});
  graph.node("Neg", {"positive"}, {"negative"});
  graph.node("Relu", {"negative"}, {"zero"});
  graph.node("Add", {"zero", "negative"}, {"y"});
  use(proto);
  expect_found("negative");
}

TEST_F(BisectTest, OperatorsThatAreWrongOnlyTogetherAreARange) {
  use(branches());
  const std::vector<std::string> options = {"fault=wrong_operator", "fault_tensor=right_2",
                                            "fault_with=right"};
  const Json record = find(options);
  ASSERT_EQ(record["verdict"], "together") << record.dump(1);
  EXPECT_EQ(record["finding"]["first"], 2);
  EXPECT_EQ(record["finding"]["last"], 4);
  EXPECT_EQ(repeat(options), kExitNotMet);
}

// Each product is four units in the last place too large, and always in the same direction.
TEST_F(BisectTest, ErrorThatGrowsBitByBitAccumulates) {
  use(chain(60));
  const Json record = find({"fault=wrong_operator", "fault_tensor=*", "fault_factor=1.0000005"});
  ASSERT_EQ(record["verdict"], "accumulated") << record.dump(1);
  EXPECT_GE(record["finding"]["last"].get<int>() - record["finding"]["first"].get<int>(), 2);
}

TEST_F(BisectTest, OperatorThatCrashesTheCompilerIsFound) {
  use(branches());
  const Json record = find({"fault=crashing_operator", "fault_tensor=left_2"});
  ASSERT_EQ(record["verdict"], "operator") << record.dump(1);
  EXPECT_EQ(record["finding"]["operator"]["outputs"], Json::array({"left_2"}));
  EXPECT_EQ(record["finding"]["worker_outcome"], "crashed");
  EXPECT_TRUE(record["finding"]["worst"].is_null());
  EXPECT_EQ(repeat({"fault=crashing_operator", "fault_tensor=left_2"}), kExitNotMet);
}

// Cuts after t4 and t5 do not compile: the prefix up to t6 is the first that is known to be wrong,
// but alone it is right, and the range that is wrong names the culprit.
TEST_F(BisectTest, CutsThatDoNotCompileLeaveAnUncertainty) {
  use(chain(10));
  const Json record = find({"fault=wrong_operator", "fault_tensor=t5", "fault_refuses=t4,t5"});
  const Json& finding = record["finding"];
  ASSERT_FALSE(finding.is_null()) << record.dump(1);
  EXPECT_EQ(finding["operator"]["index"], 6);
  EXPECT_EQ(finding["uncertainty"]["certain"], false);
  EXPECT_EQ(finding["uncertainty"]["first"], 4);
  EXPECT_EQ(finding["uncertainty"]["not_compiled_after"], Json::array({4, 5}));
  EXPECT_EQ(record["verdict"], "range");
  EXPECT_EQ(finding["first"], 5);
  EXPECT_GE(record["counts"]["refused"].get<int>(), 2);
}

TEST_F(BisectTest, ModelThatDoesNotCompileAsAWholeIsSaid) {
  use(chain(3));
  const Json record = find({"fault=half", "fault_refuses=t2"});
  EXPECT_EQ(record["verdict"], "not_compiled");
  EXPECT_EQ(summary_.exit_code, kExitPhaseFailed);
}

TEST_F(BisectTest, HealthyBackendsAreNotAccused) {
  for (const char* name : {"fashion_mnist_cnn", "fashion_mnist_cnn_int8", "wide_deep_adult"}) {
    model_ = fs::path(ASSAY_SOURCE_DIR) / "model_zoo" / (std::string(name) + ".onnx");
    const Json record = find({}, "CPU");
    EXPECT_EQ(record["verdict"], "within") << name << record.dump(1);
  }
}

TEST_F(BisectTest, NothingButTheFindingIsLeftBehind) {
  use(branches());
  find({"fault=wrong_operator", "fault_tensor=left"});
  EXPECT_TRUE(fs::is_empty(folder_ / "cache" / "tmp"));
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder_ / "results")) left.push_back(entry);
  EXPECT_THAT(left, ::testing::ElementsAre(summary_.folder));
}

TEST_F(BisectTest, WrongRequestsAreRefused) {
  use(branches());
  BisectRequest asked = request({"fault=none"});
  asked.sample = "no-such-sample";
  EXPECT_THAT(bisect(asked, environment_), StatusIs(StatusCode::kNotFound, HasSubstr("--sample")));
  asked = request({"fault=none"});
  asked.inside_output = false;
  asked.run.output = folder_ / "taken";
  fs::create_directories(folder_ / "taken" / "something");
  EXPECT_THAT(bisect(asked, environment_),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("not empty")));
  EXPECT_THAT(bisect(request({"fault=?"}), environment_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("fault")));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

TEST_F(BisectTest, RepeatOfWhatIsNoFindingIsRefused) {
  RepeatRequest again;
  again.folder = folder_ / "nothing";
  again.run.hardware_type = "WRAPPER";
  EXPECT_THAT(repeat_bisect(again, environment_),
              StatusIs(StatusCode::kNotFound, HasSubstr("bisect.json")));
  use(branches());
  find({"fault=none"});
  again.folder = summary_.folder;
  EXPECT_THAT(repeat_bisect(again, environment_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nothing to repeat")));
}

TEST_F(BisectTest, InterruptionIsCancelledAndLeavesNothing) {
  use(branches());
  stop_ = true;
  EXPECT_THAT(bisect(request({"fault=none"}), environment_),
              StatusIs(StatusCode::kCancelled, HasSubstr("")));
  EXPECT_FALSE(fs::exists(folder_ / "results"));
}

}  // namespace
}  // namespace assay::controller
