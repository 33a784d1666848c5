#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "module_test_support.h"

namespace assay {
namespace {

using assay::host::testing::Kept;
using assay::host::testing::kModels;
using assay::host::testing::list;
using assay::host::testing::tensor;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class TorchOfCpu : public CpuModule {
 protected:
  static Json linear(const Json& more = Json::object()) {
    Json info = {{"inputs", "x"},
                 {"outputs", "y"},
                 {"input_type", "FLOAT32"},
                 {"input_shape", {{"x", {1, 4}}}}};
    info.update(more);
    return info_of("linear.pt", "pt", info);
  }
  static Json pair(const std::string& file, const std::string& inputs, const std::string& outputs) {
    return info_of(file, "pt",
                   {{"inputs", inputs},
                    {"outputs", outputs},
                    {"input_type", "FLOAT32,FLOAT32"},
                    {"input_shape", {{inputs.substr(0, 1), {1, 2}}, {inputs.substr(2), {1, 2}}}}});
  }
  static Kept run_pair(host::RuntimeBackend& runtime) {
    const std::string first = runtime.signature().inputs[0].name;
    const std::string second = runtime.signature().inputs[1].name;
    return infer(runtime, list(tensor<float>({first, DType::kFloat32, {1, 2}}, {2, 3}),
                               tensor<float>({second, DType::kFloat32, {1, 2}}, {5, 7})));
  }
};

// y = x * w; rows 0 and 1 of the weight are ((0, 37, 74, 111, 148, 185) % 101 - 50) / 100.
TEST_F(TorchOfCpu, EveryOptimisationGivesTheHandComputedValues) {
  for (const char* optimization : {"all", "extended", "basic", "none"}) {
    Json configs = linear();
    configs["interact_info"]["graph_optimization"] = optimization;
    host::RuntimeBackend runtime = ready_from(configs, 2);
    const Kept outputs = infer(
        runtime, list(tensor<float>({"x", DType::kFloat32, {2, 4}}, {1, 0, 0, 0, 0, 1, 0, 0})));
    const std::vector<float> wanted = {-0.50F, -0.13F, 0.24F, -0.40F, -0.03F, 0.34F};
    EXPECT_THAT(outputs.values<float>(0), Pointwise(FloatNear(1e-6F), wanted)) << optimization;
  }
}

TEST_F(TorchOfCpu, BatchThatTheModelFollowsIsFreeInTheSignature) {
  const host::RuntimeBackend runtime = ready_from(linear());
  EXPECT_THAT(runtime.signature().inputs[0].shape, ElementsAre(-1, 4));
  EXPECT_THAT(runtime.signature().outputs[0].shape, ElementsAre(-1, 3));
}

TEST_F(TorchOfCpu, ResultSaysWhatWasExecuted) {
  const auto result = compile(linear());
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["compile_precision"], "FP32");
  EXPECT_EQ((*result)["executed_precision"]["FLOAT32"], 1.0);
  EXPECT_EQ((*result)["segments"][0]["input_tensor_map"], Json({{"x", {-1, 4}}}));
}

TEST_F(TorchOfCpu, TupleIsNamedByPlace) {
  host::RuntimeBackend runtime = ready_from(pair("pair.pt", "a,b", "total,times"));
  EXPECT_EQ(runtime.signature().outputs[0].name, "total");
  const Kept outputs = run_pair(runtime);
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(7, 10));
  EXPECT_THAT(outputs.values<float>(1), ElementsAre(10, 21));
}

TEST_F(TorchOfCpu, DictIsTakenByName) {
  host::RuntimeBackend runtime = ready_from(pair("named_pair.pt", "a,b", "product,sum"));
  EXPECT_EQ(runtime.signature().outputs[0].name, "product");
  const Kept outputs = run_pair(runtime);
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(10, 21));
  EXPECT_THAT(outputs.values<float>(1), ElementsAre(7, 10));
}

TEST_F(TorchOfCpu, ShapeThatTheModelCannotTakeIsNamedWithItsReason) {
  EXPECT_THAT(compile(linear({{"input_shape", {{"x", {1, 5}}}}})),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("x FLOAT32 [1, 5]"), HasSubstr("1x5 and 4x3"))));
}

TEST_F(TorchOfCpu, InputsThatForwardDoesNotHaveAreNamedOnBothSides) {
  EXPECT_THAT(compile(linear({{"inputs", "x,z"},
                              {"input_type", "FLOAT32,FLOAT32"},
                              {"input_shape", {{"x", {1, 4}}, {"z", {1, 4}}}}})),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("inputs are x, z"), HasSubstr("forward takes x"))));
}

TEST_F(TorchOfCpu, OutputsThatForwardDoesNotReturnAreCounted) {
  EXPECT_THAT(compile(linear({{"outputs", "y,z"}})),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("outputs are y, z"), HasSubstr("returns 1"))));
}

TEST_F(TorchOfCpu, FileThatIsNoTorchScriptIsNamed) {
  const Result<std::string> whole = read_file(kModels / "linear.pt");
  ASSERT_THAT(whole, IsOk());
  for (const std::string& content : {std::string("not a model"), whole->substr(0, 300)}) {
    const std::filesystem::path path = folder_ / "damaged.pt";
    ASSERT_THAT(write_file_atomic(path, content), IsOk());
    Json configs = linear();
    configs["model_info"]["model_path"] = path.native();
    EXPECT_THAT(compile(configs), StatusIs(StatusCode::kInvalidArgument, HasSubstr(".pt")));
  }
}

TEST_F(TorchOfCpu, FileThatIsNotThereIsNamed) {
  Json configs = linear();
  configs["model_info"]["model_path"] = "/nowhere/model.pt";
  EXPECT_THAT(compile(configs), StatusIs(StatusCode::kNotFound, HasSubstr("/nowhere/model.pt")));
}

}  // namespace
}  // namespace assay
