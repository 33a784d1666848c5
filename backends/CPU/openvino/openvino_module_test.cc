#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "module_test_support.h"

namespace assay {
namespace {

using assay::host::testing::Kept;
using assay::host::testing::list;
using assay::host::testing::tensor;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class OpenvinoOfCpu : public CpuModule {
 protected:
  static Json linear(const std::string& format) {
    return info_of(format == "tflite" ? "linear.tflite" : "linear_saved_model", format,
                   {{"inputs", "x"}, {"outputs", "y"}, {"input_shape", {{"x", {1, 4}}}}});
  }
};

// y = x * w; rows 0 and 1 of the weight are ((0, 37, 74, 111, 148, 185) % 101 - 50) / 100.
TEST_F(OpenvinoOfCpu, TensorflowsFormatsGiveTheHandComputedValues) {
  for (const std::string format : {"saved_model", "tflite"}) {
    host::RuntimeBackend runtime = ready_from(linear(format), 2);
    EXPECT_EQ(runtime.signature().inputs[0].name, "x") << format;
    EXPECT_EQ(runtime.signature().outputs[0].name, "y") << format;
    const Kept outputs = infer(
        runtime, list(tensor<float>({"x", DType::kFloat32, {2, 4}}, {1, 0, 0, 0, 0, 1, 0, 0})));
    const std::vector<float> wanted = {-0.50F, -0.13F, 0.24F, -0.40F, -0.03F, 0.34F};
    EXPECT_THAT(outputs.values<float>(0), Pointwise(FloatNear(1e-6F), wanted)) << format;
  }
}

TEST_F(OpenvinoOfCpu, ComputesInFp32AndSaysSo) {
  const auto result = compile(linear("saved_model"));
  ASSERT_THAT(result, assay::testing::IsOk());
  EXPECT_EQ((*result)["compile_precision"], "FP32");
  EXPECT_EQ((*result)["executed_precision"]["requested"], "fp32");
  EXPECT_EQ((*result)["segments"][0]["compiled_model"][0]["compiled_obj"],
            "openvino/compiled/batch-1.blob");
}

TEST_F(OpenvinoOfCpu, OptionsThatOpenvinoLacksAreRefused) {
  Json configs = linear("tflite");
  configs["interact_info"]["graph_optimization"] = "none";
  EXPECT_THAT(compile(configs), StatusIs(StatusCode::kUnimplemented,
                                         AllOf(HasSubstr("graph_optimization"),
                                               HasSubstr("\"none\""), HasSubstr("\"all\""))));
  configs["interact_info"] = {{"execution_mode", "parallel"}};
  EXPECT_THAT(compile(configs), StatusIs(StatusCode::kUnimplemented, HasSubstr("execution_mode")));
}

TEST_F(OpenvinoOfCpu, FileWhereAFolderIsWantedIsRefused) {
  EXPECT_THAT(compile(info_of("linear.tflite", "saved_model")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a folder is wanted")));
}

}  // namespace
}  // namespace assay
