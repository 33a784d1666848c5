// The built backend as Assay uses it: found by its manifest, opened, called through src/host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "host/built_backend_test_support.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::host::testing::BuiltBackend;
using assay::host::testing::Kept;
using assay::host::testing::list;
using assay::host::testing::tensor;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const host::Library& library() {
  static const host::Library kOpened =
      host::testing::open_built("GRAPHCORE", ASSAY_GRAPHCORE_BACKENDS);
  return kOpened;
}

class GraphcoreBackend : public BuiltBackend {
 protected:
  GraphcoreBackend() : BuiltBackend(library(), "graphcore") {}

  static Json with(const std::string& model, const Json& answers, std::int64_t batch = 1) {
    Json configs = configs_of(model_path(model), "onnx", batch);
    configs["interact_info"] = answers;
    return configs;
  }

  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::directory_iterator(artifact())) {
      std::ifstream file(entry.path(), std::ios::binary);
      found[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return found;
  }
};

TEST_F(GraphcoreBackend, EveryResultSaysThatItIsSimulated) {
  const auto result = compile(with("convolution", {{"precision", "fp16"}}));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["simulated"], true);
  EXPECT_EQ((*result)["modelled"]["simulated"], true);
  EXPECT_EQ((*result)["compile_precision"], "FP16");
  EXPECT_EQ((*result)["optimizations"]["partials_type"]["effective"], "float");
  EXPECT_GT((*result)["modelled"]["rows"][0]["cycles"], 0);
}

TEST_F(GraphcoreBackend, WithoutTheSdkAChipIsUnavailableAndNoNumberComes) {
  EXPECT_THAT(compile(with("convolution", {{"device", "ipu"}})),
              StatusIs(StatusCode::kUnavailable, HasSubstr("Poplar SDK not found")));
}

TEST_F(GraphcoreBackend, CompilingTenTimesGivesTheSameBytes) {
  const Json configs = with("convolution", {{"precision", "fp16"}});
  ASSERT_THAT(compile(configs), IsOk());
  const auto first = files();
  EXPECT_EQ(first.size(), 9U);
  for (int i = 0; i < 9; ++i) {
    ASSERT_THAT(compile(configs), IsOk());
    EXPECT_EQ(files(), first);
  }
}

TEST_F(GraphcoreBackend, TheCacheGoesByContentAndOptionsNotByName) {
  const std::string cache = folder_ / "cache";
  const auto entries = [&] {
    return std::distance(fs::directory_iterator(cache), fs::directory_iterator());
  };
  ASSERT_THAT(compile(with("convolution", {{"precision", "fp16"}, {"cache", cache}})), IsOk());
  const auto made = files();
  EXPECT_EQ(entries(), 1);
  // The same bytes under another name.
  Json renamed = with("convolution", {{"precision", "fp16"}, {"cache", cache}});
  fs::copy_file(model_path("convolution"), folder_ / "other.onnx");
  renamed["model_info"]["model_path"] = (folder_ / "other.onnx").native();
  ASSERT_THAT(compile(renamed), IsOk());
  EXPECT_EQ(files(), made);
  EXPECT_EQ(entries(), 1);
  ASSERT_THAT(compile(with("convolution", {{"precision", "fp32"}, {"cache", cache}})), IsOk());
  EXPECT_EQ(entries(), 2);
}

TEST_F(GraphcoreBackend, EightBitArithmeticIsRefusedWithTheReason) {
  EXPECT_THAT(compile(with("quantised", Json::object())),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("8 bits")));
}

TEST_F(GraphcoreBackend, EveryIntegerTypeAndBoolGoInAndComeOut) {
  host::RuntimeBackend runtime = ready_from(with("identities", {{"precision", "fp16"}}));
  const Kept outputs = infer(
      runtime, list(tensor<double>({"f64", DType::kFloat64, {1, 3}}, {1, 2, 0.1}),
                    tensor<float>({"f32", DType::kFloat32, {1, 3}}, {1, 70000, 0.1F}),
                    tensor<std::uint16_t>({"f16", DType::kFloat16, {1, 3}}, {0x3C00, 0x7BFF, 1}),
                    tensor<std::int64_t>({"i64", DType::kInt64, {1, 3}}, {-1, 0, 2147483647}),
                    tensor<std::int32_t>({"i32", DType::kInt32, {1, 3}}, {-1, 0, 2147483647}),
                    tensor<std::int16_t>({"i16", DType::kInt16, {1, 3}}, {-1, 0, 32767}),
                    tensor<std::int8_t>({"i8", DType::kInt8, {1, 3}}, {-128, 0, 127}),
                    tensor<std::uint8_t>({"u8", DType::kUInt8, {1, 3}}, {0, 1, 255}),
                    tensor<std::uint8_t>({"bool", DType::kBool, {1, 3}}, {0, 1, 1})));
  // fp32 comes back as fp16 holds it: saturated, and rounded.
  EXPECT_THAT(outputs.values<float>(1), ElementsAre(1.0F, 65504.0F, 0.0999755859375F));
  EXPECT_THAT(outputs.values<std::uint16_t>(2), ElementsAre(0x3C00, 0x7BFF, 1));
  EXPECT_THAT(outputs.values<std::int64_t>(3), ElementsAre(-1, 0, 2147483647));
  EXPECT_THAT(outputs.values<std::int32_t>(4), ElementsAre(-1, 0, 2147483647));
  EXPECT_THAT(outputs.values<std::uint8_t>(7), ElementsAre(0, 1, 255));
  EXPECT_THAT(outputs.values<std::uint8_t>(8), ElementsAre(0, 1, 1));
}

class GraphcoreProduct : public GraphcoreBackend {
 protected:
  // x and factor multiplied, as fp16 with these answers.
  Result<std::vector<float>> product(Json answers, const std::vector<float>& x, float factor) {
    answers["precision"] = "fp16";
    Json configs = with("scalar_input", answers);
    configs["model_info"]["batch_axes"] = {{"x", 0}, {"factor", nullptr}};
    host::RuntimeBackend runtime = ready_from(configs);
    const auto tensors = list(tensor<float>({"x", DType::kFloat32, {1, 2}}, x),
                              tensor<float>({"factor", DType::kFloat32, {}}, {factor}));
    Kept outputs;
    std::vector<TensorView> views;
    for (const Tensor& each : tensors) views.push_back(each.view());
    RETURN_IF_ERROR(runtime.infer(views, outputs));
    return outputs.values<float>(0);
  }
};

TEST_F(GraphcoreProduct, OverflowSaturatesOrBecomesNanOrFails) {
  EXPECT_THAT(*product(Json::object(), {300, -300}, 300), ElementsAre(65504.0F, -65504.0F));
  EXPECT_THAT(*product({{"nanoo", true}}, {300, -300}, 300), Each(::testing::IsNan()));
  EXPECT_THAT(product({{"fp_exceptions", true}}, {300, -300}, 300),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr("operator Mul"), HasSubstr("tensor \"y\""))));
  EXPECT_THAT(*product({{"fp_exceptions", true}}, {3, -3}, 3), ElementsAre(9.0F, -9.0F));
}

TEST_F(GraphcoreProduct, AFixedSeedDrawsTheSameAndAnotherDrawsOthers) {
  // 2049 lies half way between two values of fp16: the input is rounded to either.
  const auto draw = [&](const std::string& seed) {
    return *product({{"stochastic_rounding", true}, {"seed", seed}}, {2049, 2049}, 1);
  };
  EXPECT_EQ(draw("1"), draw("1"));
  std::map<std::vector<float>, int> seen;
  for (int seed = 0; seed < 12; ++seed) ++seen[draw(std::to_string(seed))];
  EXPECT_GT(seen.size(), 1U);
  for (const auto& [values, count] : seen) EXPECT_THAT(values, Each(::testing::AnyOf(2048, 2050)));
}

TEST_F(GraphcoreBackend, ACallOfSeveralStepsWritesEveryRow) {
  const Json steps = {{"precision", "fp16"}, {"batches_per_step", 3}, {"replication_factor", 2}};
  host::RuntimeBackend one = ready_from(with("dynamic_batch", {{"precision", "fp16"}}, 12), 12);
  std::vector<float> values(48);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 16;
  const auto whole = list(tensor<float>({"x", DType::kFloat32, {12, 4}}, values));
  const auto wanted = infer(one, whole).values<float>(0);
  host::RuntimeBackend six = ready_from(with("dynamic_batch", steps, 2), 2);
  EXPECT_EQ(six.loaded_batch_size(), 12);
  const Kept outputs = infer(six, whole);
  EXPECT_THAT(outputs.shapes.at(0), ElementsAre(12, 3));
  EXPECT_EQ(outputs.values<float>(0), wanted);
}

TEST_F(GraphcoreBackend, AnOutputWithoutABatchIsRefusedForSeveralSteps) {
  EXPECT_THAT(compile(with("constant_output", {{"batches_per_step", 2}})),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("output \"c\"")));
}

TEST_F(GraphcoreBackend, APartOfTheArtifactThatWasChangedIsNamed) {
  const Json configs = with("convolution", Json::object());
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  std::ofstream(artifact() / "weights.bin", std::ios::app) << "x";
  EXPECT_THAT(load(configs, *result), StatusIs(StatusCode::kDataLoss, HasSubstr("part weights")));
}

TEST_F(GraphcoreBackend, AskingForTheDeviceAcquiresNothing) {
  for (int i = 0; i < 3; ++i) {
    const auto probed = host::probe(library());
    ASSERT_THAT(probed, IsOk());
    EXPECT_TRUE((*probed)->available) << (*probed)->reason;
    EXPECT_THAT((*probed)->devices.at(0).name, HasSubstr("simulated"));
  }
}

}  // namespace
}  // namespace assay
