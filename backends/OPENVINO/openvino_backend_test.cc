// The built backend as Assay uses it: found by its manifest, opened, called through src/host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <openvino/core/graph_util.hpp>
#include <openvino/runtime/core.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "host/built_backend_test_support.h"
#include "tensor/convert.h"

// OpenVINO is not built with ThreadSanitizer, which would miss its locks and see races where there
// are none. Ours are still checked.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1";
}

namespace assay {
namespace {

namespace fs = std::filesystem;
using assay::host::testing::BuiltBackend;
using assay::host::testing::Kept;
using assay::host::testing::kImageValues;
using assay::host::testing::kModels;
using assay::host::testing::list;
using assay::host::testing::ramp;
using assay::host::testing::tensor;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// ---- a run of the backend in a few words --------------------------------------------------------

const host::Library& library() {
  static const host::Library kOpened =
      host::testing::open_built("OPENVINO", ASSAY_OPENVINO_BACKENDS);
  return kOpened;
}

class OpenvinoBackend : public BuiltBackend {
 protected:
  OpenvinoBackend() : BuiltBackend(library(), "openvino") {}

  host::RuntimeBackend ready(const std::string& model, std::int64_t batch_size = 1) const {
    return ready_from(configs_of(model_path(model), "onnx", batch_size), batch_size);
  }
};

// ---- what it is ---------------------------------------------------------------------------------

TEST_F(OpenvinoBackend, VersionNamesTheRuntimeAndItself) {
  auto runtime = host::RuntimeBackend::create(library());
  ASSERT_THAT(runtime, IsOk());
  const auto version = runtime->version();
  ASSERT_THAT(version, IsOk());
  EXPECT_THAT(*version, MatchesRegex("OpenVINO 20[0-9.]+-[^ ]+, OPENVINO backend [0-9.]+"));
}

TEST_F(OpenvinoBackend, ProbeFindsTheProcessorByName) {
  const auto probed = host::probe(library());
  ASSERT_THAT(probed, IsOk());
  ASSERT_TRUE(probed->has_value());
  EXPECT_TRUE((*probed)->available) << (*probed)->reason;
  ASSERT_EQ((*probed)->devices.size(), 1U);
  EXPECT_FALSE((*probed)->devices[0].name.empty());
}

// ---- compile ------------------------------------------------------------------------------------

TEST_F(OpenvinoBackend, CompileResultSaysWhatWasCompiled) {
  Json configs = configs_of(model_path("convolution"));
  configs["workload"]["batch_sizes"] = {4, 1};
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["compile_status"], "success");
  EXPECT_EQ((*result)["compile_precision"], "FP32");
  EXPECT_EQ((*result)["executed_precision"]["FLOAT32"], 1.0);
  EXPECT_EQ((*result)["executed_precision"]["summary"], "FP32");
  EXPECT_EQ((*result)["input_type"], Json::array({"FLOAT32"}));
  EXPECT_EQ((*result)["sg_percent"], 100);
  const Json& segment = (*result)["segments"][0];
  EXPECT_EQ(segment["input_tensor_map"], Json({{"x", {-1, 3, 32, 32}}}));
  EXPECT_EQ(segment["output_tensor_map"], Json({{"y", {-1, 8}}}));
  ASSERT_EQ(segment["compiled_model"].size(), 2U);
  for (const Json& object : segment["compiled_model"]) {
    EXPECT_TRUE(fs::exists(artifact() / object["compiled_obj"].get<std::string>()));
  }
  EXPECT_EQ(segment["compiled_model"][0]["compiled_bs"], 1);
  EXPECT_EQ(segment["compiled_model"][1]["compiled_bs"], 4);
}

// The convolution and the mean over its result, which OpenVINO's graph calls by these names.
TEST_F(OpenvinoBackend, OperatorsOfTheGraphAreListedWithTheirImplementation) {
  const auto result = compile(configs_of(model_path("convolution")));
  ASSERT_THAT(result, IsOk());
  std::map<std::string, Json> rows;
  for (const Json& row : (*result)["executed_precision"]["operators"]) {
    rows[row["op"].get<std::string>()] = row;
  }
  ASSERT_TRUE(rows.contains("Convolution"));
  EXPECT_EQ(rows["Convolution"]["precision"], "FLOAT32");
  EXPECT_EQ(rows["Convolution"]["count"], 1);
  EXPECT_TRUE(rows["Convolution"]["arithmetic"].get<bool>());
  EXPECT_THAT(rows["Convolution"]["implementation"].get<std::string>(), HasSubstr("f32"));
  EXPECT_FALSE(rows.contains("Const"));
}

TEST_F(OpenvinoBackend, HalfPrecisionModelIsKnownToComputeInFloat32) {
  const auto result = compile(configs_of(model_path("half")));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["input_type"], Json::array({"FLOAT16"}));
  EXPECT_EQ((*result)["executed_precision"]["FLOAT32"], 1.0);
}

TEST_F(OpenvinoBackend, QuantisedModelIsKnownToComputeInInt8) {
  const auto result = compile(configs_of(model_path("quantised")));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["executed_precision"]["INT8"], 1.0);
  EXPECT_EQ((*result)["compile_precision"], "INT8");
}

// The mask has eight bits, but what is computed has not.
TEST_F(OpenvinoBackend, MaskThatChoosesIsNoArithmeticInInt8) {
  const auto result = compile(configs_of(model_path("chosen")));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["compile_precision"], "FP32");
  EXPECT_EQ((*result)["executed_precision"]["FLOAT32"], 1.0);
}

// Either the processor computes in bfloat16, and that is what is reported and done, or it says no.
TEST_F(OpenvinoBackend, LowerPrecisionIsDoneAndReportedOrRefused) {
  for (const auto& [asked, name] : std::vector<std::pair<std::string, std::string>>{
           {"bf16", "BFLOAT16"}, {"fp16", "FLOAT16"}}) {
    Json configs = configs_of(model_path("convolution"));
    configs["interact_info"]["inference_precision"] = asked;
    const auto result = compile(configs);
    if (!result.ok()) {
      EXPECT_THAT(result, StatusIs(StatusCode::kUnimplemented, HasSubstr(asked)));
      continue;
    }
    EXPECT_EQ((*result)["executed_precision"]["requested"], asked);
    ASSERT_TRUE((*result)["executed_precision"].contains(name)) << result->dump(2);
    auto lower = load(configs, *result);
    ASSERT_THAT(lower, IsOk());
    const auto image = list(tensor({"x", DType::kFloat32, {1, 3, 32, 32}}, ramp(kImageValues)));
    const auto rounded = infer(*lower, image).values<float>(0);
    host::RuntimeBackend exact = ready("convolution");
    const auto wanted = infer(exact, image).values<float>(0);
    EXPECT_NE(rounded, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(rounded[i], wanted[i], 0.05) << i;
  }
}

TEST_F(OpenvinoBackend, UnknownFormatNamesTheKnownOnes) {
  EXPECT_THAT(compile(configs_of(model_path("half"), "pt")),
              StatusIs(StatusCode::kUnimplemented,
                       AllOf(HasSubstr("\"pt\""), HasSubstr("onnx"), HasSubstr("saved_model"))));
}

TEST_F(OpenvinoBackend, BadOptionsNameWhatIsAccepted) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"threads", "0"},
                                                        {"threads", "many"},
                                                        {"streams", "-1"},
                                                        {"inference_precision", "fp64"},
                                                        {"performance_hint", "speed"}}) {
    Json configs = configs_of(model_path("half"));
    configs["interact_info"][name] = value;
    EXPECT_THAT(compile(configs), StatusIs(StatusCode::kInvalidArgument,
                                           AllOf(HasSubstr(name), HasSubstr("\"" + value + "\""),
                                                 HasSubstr("accepted"))));
  }
}

TEST_F(OpenvinoBackend, EveryHintAndCountGivesTheSameValues) {
  const auto image = list(tensor({"x", DType::kFloat32, {1, 3, 32, 32}}, ramp(kImageValues)));
  host::RuntimeBackend usual = ready("convolution");
  const auto wanted = infer(usual, image).values<float>(0);
  for (const Json& answers :
       {Json{{"performance_hint", "throughput"}}, Json{{"performance_hint", "none"}},
        Json{{"streams", "2"}, {"threads", 2}}, Json{{"threads", "1"}}}) {
    Json configs = configs_of(model_path("convolution"));
    configs["interact_info"] = answers;
    host::RuntimeBackend runtime = ready_from(configs);
    const auto got = infer(runtime, image).values<float>(0);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_FLOAT_EQ(got[i], wanted[i]) << answers;
  }
}

TEST_F(OpenvinoBackend, BadModelsAreRefusedWithTheRuntimesReason) {
  const std::string whole = *read_file(model_path("convolution"));
  ASSERT_THAT(write_file_atomic(folder_ / "cut.onnx", whole.substr(0, whole.size() / 2)), IsOk());
  EXPECT_THAT(compile(configs_of(folder_ / "cut.onnx")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cut.onnx")));
  EXPECT_THAT(compile(configs_of(model_path("unknown_op"))),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("NoSuchOperator")));
  EXPECT_THAT(compile(configs_of(folder_ / "gone.onnx")),
              StatusIs(StatusCode::kNotFound, HasSubstr("gone.onnx")));
  EXPECT_THAT(compile(configs_of(kModels)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a file is wanted")));
  EXPECT_THAT(compile(configs_of(model_path("open_rank"))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("dynamic rank")));
}

TEST_F(OpenvinoBackend, MessagesDoNotNameTheSourcesOfTheRuntime) {
  const auto refused = compile(configs_of(model_path("unknown_op")));
  ASSERT_THAT(refused, Not(IsOk()));
  EXPECT_THAT(
      std::string(refused.status().message()),
      AllOf(Not(HasSubstr("Exception from")), Not(HasSubstr(".cpp")), Not(HasSubstr("\n"))));
}

TEST_F(OpenvinoBackend, TextAndSequencesAreRefused) {
  EXPECT_THAT(compile(configs_of(model_path("string_input"))),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("\"text\"")));
  EXPECT_THAT(compile(configs_of(model_path("sequence_output"))), Not(IsOk()));
}

// ---- the artifact -------------------------------------------------------------------------------

TEST_F(OpenvinoBackend, ArtifactHoldsExternalDataAndCanBeMoved) {
  fs::create_directory(folder_ / "model");
  for (const char* file : {"model.onnx", "w.bin"}) {
    fs::copy_file(kModels / "external" / file, folder_ / "model" / file);
  }
  const Json configs = configs_of(folder_ / "model" / "model.onnx");
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  fs::remove_all(folder_ / "model");
  fs::create_directory(folder_ / "moved");
  fs::rename(artifact(), folder_ / "moved" / "elsewhere");
  fs::create_directory_symlink(folder_ / "moved" / "elsewhere", artifact());
  for (const std::int64_t batch : {1, 2}) {  // imported; compiled from the model of the artifact
    auto runtime = load(configs, *result, batch);
    ASSERT_THAT(runtime, IsOk());
    const std::vector<float> tens(static_cast<std::size_t>(batch) * 4, 10.0F);
    const Kept outputs = infer(*runtime, list(tensor({"x", DType::kFloat32, {batch, 4}}, tens)));
    std::vector<float> first = outputs.values<float>(0);
    first.resize(4);
    EXPECT_THAT(first, ElementsAre(10, 20, 30, 40));
  }
}

TEST_F(OpenvinoBackend, MissingExternalDataIsNamed) {
  EXPECT_THAT(compile(configs_of(model_path("external/missing"))),
              StatusIs(StatusCode::kNotFound, HasSubstr("missing.bin")));
}

TEST_F(OpenvinoBackend, PathsWithSpacesAndOtherLettersWork) {
  const fs::path odd = folder_ / "modèle α 模型.onnx";
  fs::copy_file(model_path("dynamic_batch"), odd);
  const Json configs = configs_of(odd);
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(load(configs, *result), IsOk());
}

// An artifact of another release or another kind of processor is refused, with both sides named.
TEST_F(OpenvinoBackend, ArtifactCompiledElsewhereIsRefused) {
  const Json configs = configs_of(model_path("dynamic_batch"));
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  const fs::path record = artifact() / "options.json";
  const Json right = Json::parse(*read_file(record));
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"build", "2020.1.0-1"},
           {"requirements", "meta=1.0;ov=2026.4.1;isa=an instruction set of tomorrow"}}) {
    Json other = right;
    other[key] = value;
    other["device"] = "Another Processor";
    ASSERT_THAT(write_file_atomic(record, other.dump()), IsOk());
    EXPECT_THAT(load(configs, *result),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(value), HasSubstr("Another Processor"),
                               HasSubstr(right["build"].get<std::string>()))));
  }
}

TEST_F(OpenvinoBackend, ArtifactOfSomebodyElseOrDamagedIsRefused) {
  const Json configs = configs_of(model_path("dynamic_batch"));
  EXPECT_THAT(load(configs, Json::object()), StatusIs(StatusCode::kNotFound, HasSubstr("options")));
  ASSERT_THAT(write_file_atomic(artifact() / "options.json", "{\"format\": 1}"), IsOk());
  EXPECT_THAT(load(configs, Json::object()), StatusIs(StatusCode::kDataLoss, HasSubstr("options")));

  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  const fs::path blob = artifact() / "compiled" / "batch-1.blob";
  ASSERT_THAT(write_file_atomic(blob, "damaged"), IsOk());
  EXPECT_THAT(load(configs, *result), StatusIs(StatusCode::kDataLoss, HasSubstr("batch-1.blob")));
  fs::remove(blob);
  EXPECT_THAT(load(configs, *result), StatusIs(StatusCode::kNotFound, HasSubstr("batch-1.blob")));
}

// ---- batch --------------------------------------------------------------------------------------

TEST_F(OpenvinoBackend, FreeBatchServesEverySizeWhetherCompiledForItOrNot) {
  Json configs = configs_of(model_path("dynamic_batch"));
  configs["workload"]["batch_sizes"] = {1, 3};
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  for (const std::int64_t batch : {1, 3, 8}) {
    auto runtime = load(configs, *result, batch);
    ASSERT_THAT(runtime, IsOk());
    EXPECT_EQ(runtime->loaded_batch_size(), batch);
    EXPECT_EQ(runtime->signature().inputs[0].shape, (Shape{batch, 4}));
    const auto count = static_cast<std::size_t>(batch);
    const Kept outputs =
        infer(*runtime, list(tensor({"x", DType::kFloat32, {batch, 4}}, ramp(count * 4))));
    EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{batch, 3}));
  }
}

TEST_F(OpenvinoBackend, FixedBatchThatFollowsIsRunAtOtherSizes) {
  Json configs = configs_of(model_path("fixed_batch1"));
  configs["workload"]["batch_sizes"] = {1, 2};
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["segments"][0]["compiled_model"].size(), 2U);
  auto one = load(configs, *result, 1);
  ASSERT_THAT(one, IsOk());
  const Kept single =
      infer(*one, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {1, 0, 0, 0})));
  auto two = load(configs, *result, 2);
  ASSERT_THAT(two, IsOk());
  const Kept both =
      infer(*two, list(tensor<float>({"x", DType::kFloat32, {2, 4}}, {0, 1, 0, 0, 1, 0, 0, 0})));
  const auto rows = both.values<float>(0);
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(std::vector<float>(rows.begin() + 3, rows.end()), single.values<float>(0));
}

// The sum over the batch: its shape never shows how many samples there were.
TEST_F(OpenvinoBackend, FixedBatchThatDoesNotFollowIsRefusedWithTheReason) {
  const Json configs = configs_of(model_path("fixed_batch_sum"), "onnx", 8);
  EXPECT_THAT(compile(configs), StatusIs(StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr("\"x\""), HasSubstr("batch is fixed"),
                                               HasSubstr("8"), HasSubstr("run batch size 1"))));
  const Json single = configs_of(model_path("fixed_batch_sum"));
  const auto result = compile(single);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["max_batch_size"], 1);
  EXPECT_THAT(load(single, *result, 1), IsOk());
  EXPECT_THAT(load(single, *result, 8),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"x\""), HasSubstr("batch is fixed"), HasSubstr("8"))));
}

// The model info may say that one sample takes two rows; a batch of 1 is then the fixed 2.
TEST_F(OpenvinoBackend, SamplesOfSeveralRowsCount) {
  Json configs = configs_of(model_path("fixed_batch2"));
  configs["model_info"]["input_shape"] = {{"x", {2, 4}}};
  host::RuntimeBackend runtime = ready_from(configs);
  EXPECT_EQ(runtime.signature().inputs[0].shape, (Shape{2, 4}));
}

TEST_F(OpenvinoBackend, InputThatIsNotBatchedIsLeftAlone) {
  Json configs = configs_of(model_path("fixed_batch2"), "onnx", 8);
  configs["model_info"]["batch_axes"] = {{"x", nullptr}};
  host::RuntimeBackend runtime = ready_from(configs, 8);
  EXPECT_EQ(runtime.signature().inputs[0].shape, (Shape{2, 4}));
}

TEST_F(OpenvinoBackend, OtherFreeDimensionsStayFree) {
  host::RuntimeBackend runtime = ready("symbolic_dims", 2);
  EXPECT_EQ(runtime.signature().inputs[0].shape, (Shape{2, -1, 4}));
  for (const std::int64_t length : {3, 5}) {
    const auto count = static_cast<std::size_t>(2 * length * 4);
    const Kept outputs =
        infer(runtime, list(tensor({"x", DType::kFloat32, {2, length, 4}}, ramp(count))));
    EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{2, length, 4}));
  }
}

TEST_F(OpenvinoBackend, LoadReplacesWhatWasLoaded) {
  const Json configs = configs_of(model_path("dynamic_batch"));
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  auto runtime = load(configs, *result, 1);
  ASSERT_THAT(runtime, IsOk());
  host::LoadRequest request;
  request.configs = configs.dump();
  request.compile_result = result->dump();
  request.artifact_folder = artifact();
  request.batch_size = 4;
  ASSERT_THAT(runtime->load(request), IsOk());
  EXPECT_EQ(runtime->loaded_batch_size(), 4);
  EXPECT_THAT(runtime->close(), IsOk());
}

// ---- values -------------------------------------------------------------------------------------

TEST_F(OpenvinoBackend, MatMulIsRight) {
  host::RuntimeBackend runtime = ready("dynamic_batch");
  const Kept outputs =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {1, 0, 0, 0})));
  // The first row of the weight: ((0, 37, 74) % 101 - 50) / 100.
  const std::vector<float> got = outputs.values<float>(0);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_FLOAT_EQ(got[0], -0.50F);
  EXPECT_FLOAT_EQ(got[1], -0.13F);
  EXPECT_FLOAT_EQ(got[2], 0.24F);
}

// Small values: OpenVINO carries 64-bit values in 32 bits, which the compile result says.
TEST_F(OpenvinoBackend, EveryDTypeCrossesUnchanged) {
  const Json configs = configs_of(model_path("identities"));
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT((*result)["executed_precision"]["note"].get<std::string>(),
              AllOf(HasSubstr("32 bits"), HasSubstr("f64"), HasSubstr("i64")));
  auto runtime = load(configs, *result);
  ASSERT_THAT(runtime, IsOk());
  const std::uint16_t half = float_to_half(1.5F);
  const std::vector<Tensor> inputs =
      list(tensor<double>({"f64", DType::kFloat64, {1, 3}}, {-1.5, 0, 3}),
           tensor<float>({"f32", DType::kFloat32, {1, 3}}, {-1.5, 0.1F, 3}),
           tensor<std::uint16_t>({"f16", DType::kFloat16, {1, 3}}, {half, 0, half}),
           tensor<std::int64_t>({"i64", DType::kInt64, {1, 3}}, {-5, 0, 1 << 30}),
           tensor<std::int32_t>({"i32", DType::kInt32, {1, 3}}, {-5, 0, 1 << 30}),
           tensor<std::int16_t>({"i16", DType::kInt16, {1, 3}}, {-5, 0, 30000}),
           tensor<std::int8_t>({"i8", DType::kInt8, {1, 3}}, {-5, 0, 127}),
           tensor<std::uint8_t>({"u8", DType::kUInt8, {1, 3}}, {5, 0, 255}),
           tensor<std::uint8_t>({"bool", DType::kBool, {1, 3}}, {1, 0, 1}));
  const Kept outputs = infer(*runtime, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(outputs.data.at(i).size(), inputs[i].bytes().size());
    EXPECT_EQ(
        std::memcmp(outputs.data.at(i).data(), inputs[i].bytes().data(), inputs[i].bytes().size()),
        0)
        << inputs[i].spec().name;
  }
}

TEST_F(OpenvinoBackend, HalfPrecisionInAndOut) {
  host::RuntimeBackend runtime = ready("half");
  const std::uint16_t one = float_to_half(1.0F);
  const Kept outputs =
      infer(runtime, list(tensor<std::uint16_t>({"x", DType::kFloat16, {1, 4}}, {one, 0, 0, 0})));
  const auto got = outputs.values<std::uint16_t>(0);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(half_to_float(got[0]), 0.0F);  // -1 before Relu
  EXPECT_EQ(got[2], float_to_half(0.48F));
}

TEST_F(OpenvinoBackend, QuantisedModelStaysNearItsFloatForm) {
  host::RuntimeBackend runtime = ready("quantised");
  const Kept outputs =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 8}}, {1, 0, 0, 0, 0, 0, 0, 0})));
  // Row 0 of the weight: (0, 7, 14, 21) - 20, each over 32; outputs are multiples of 1/16.
  const std::vector<float> got = outputs.values<float>(0);
  ASSERT_EQ(got.size(), 4U);
  const std::vector<float> exact = {-20.0F / 32, -13.0F / 32, -6.0F / 32, 1.0F / 32};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], exact[i], 1.0 / 32 + 1e-6) << i;
}

TEST_F(OpenvinoBackend, ScalarsAreTensorsOfOneElement) {
  host::RuntimeBackend sum = ready("scalar_output");
  const Kept summed = infer(sum, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {1, 2, 3, 4})));
  EXPECT_TRUE(summed.shapes.at(0).empty());
  EXPECT_THAT(summed.values<float>(0), ElementsAre(10));

  host::RuntimeBackend scaled = ready("scalar_input");
  const Kept outputs = infer(scaled, list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {1, 2}),
                                          tensor<float>({"factor", DType::kFloat32, {}}, {3})));
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(3, 6));
}

TEST_F(OpenvinoBackend, OutputWithoutElementsIsGiven) {
  host::RuntimeBackend runtime = ready("empty_output");
  const Kept outputs =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {1, 2, 3, 4})));
  EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{1, 0}));
}

TEST_F(OpenvinoBackend, InputWithoutElementsIsTaken) {
  host::RuntimeBackend runtime = ready("symbolic_dims");
  const Kept outputs = infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 0, 4}}, {})));
  EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{1, 0, 4}));
}

TEST_F(OpenvinoBackend, OutputWhoseShapeDependsOnTheData) {
  host::RuntimeBackend runtime = ready("dynamic_output");
  const Kept two =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {0, 5, 0, 7})));
  EXPECT_EQ(two.shapes.at(0), (std::vector<std::int64_t>{2, 2}));
  EXPECT_THAT(two.values<std::int64_t>(0), ElementsAre(0, 0, 1, 3));
  const Kept none =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {0, 0, 0, 0})));
  EXPECT_EQ(none.shapes.at(0), (std::vector<std::int64_t>{2, 0}));
}

TEST_F(OpenvinoBackend, OutputThatIsAConstantIsGiven) {
  host::RuntimeBackend runtime = ready("constant_output");
  for (int call = 0; call < 2; ++call) {
    const Kept outputs =
        infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {1, 2})));
    EXPECT_THAT(outputs.values<float>(0), ElementsAre(-1, -2));
    EXPECT_THAT(outputs.values<float>(1), ElementsAre(7, 8, 9));
  }
}

TEST_F(OpenvinoBackend, NanIsAValueNotAnError) {
  host::RuntimeBackend runtime = ready("nan_output");
  const Kept outputs = infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {-1, 4})));
  EXPECT_TRUE(std::isnan(outputs.values<float>(0)[0]));
  EXPECT_EQ(outputs.values<float>(0)[1], 2.0F);
}

TEST_F(OpenvinoBackend, SeveralInputsAndOutputsKeepTheirPlacesAndNames) {
  host::RuntimeBackend runtime = ready("two_by_two");
  EXPECT_EQ(runtime.signature().inputs[1].name, "b");
  EXPECT_EQ(runtime.signature().outputs[0].name, "sum");
  EXPECT_EQ(runtime.signature().outputs[1].name, "difference");
  const Kept outputs = infer(runtime, list(tensor<float>({"a", DType::kFloat32, {1, 2}}, {5, 7}),
                                           tensor<float>({"b", DType::kFloat32, {1, 2}}, {1, 2})));
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(6, 9));
  EXPECT_THAT(outputs.values<float>(1), ElementsAre(4, 5));
}

// A tensor with several names in the graph has the model's own, or the model info's.
TEST_F(OpenvinoBackend, OutputsHaveTheNamesOfTheModel) {
  EXPECT_EQ(ready("branch").signature().outputs[0].name, "y");
}

TEST_F(OpenvinoBackend, InputsAreNotWrittenTo) {
  host::RuntimeBackend runtime = ready("symbolic_dims");
  const auto inputs = list(tensor<float>({"x", DType::kFloat32, {1, 1, 4}}, {-1, 2, -3, 4}));
  const std::vector<std::byte> before(inputs[0].bytes().begin(), inputs[0].bytes().end());
  const Kept outputs = infer(runtime, inputs);
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(0, 2, 0, 4));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), inputs[0].bytes().begin()));
}

// ---- other formats ------------------------------------------------------------------------------

TEST_F(OpenvinoBackend, IrOfOpenvinoIsRead) {
  ov::Core core;
  const fs::path ir = folder_ / "linear.xml";
  ov::save_model(core.read_model(model_path("dynamic_batch").native()), ir.native(), false);
  host::RuntimeBackend runtime = ready_from(configs_of(ir, "ir"));
  EXPECT_EQ(runtime.signature().inputs[0].name, "x");
  const Kept outputs =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {1, 0, 0, 0})));
  EXPECT_FLOAT_EQ(outputs.values<float>(0)[0], -0.50F);
  fs::remove(folder_ / "linear.bin");
  EXPECT_THAT(compile(configs_of(ir, "ir")),
              StatusIs(StatusCode::kNotFound, HasSubstr("linear.bin")));
}

// The same linear model as dynamic_batch.onnx, made by generate_tensorflow.py.
TEST_F(OpenvinoBackend, SavedModelAndTfliteAreRead) {
  for (const auto& [format, name] : std::vector<std::pair<std::string, std::string>>{
           {"saved_model", "linear_saved_model"}, {"tflite", "linear.tflite"}}) {
    Json configs = configs_of(kModels / name, format, 2);
    configs["model_info"]["inputs"] = "x";
    configs["model_info"]["outputs"] = "y";
    host::RuntimeBackend runtime = ready_from(configs, 2);
    EXPECT_EQ(runtime.signature().inputs[0].name, "x") << format;
    EXPECT_EQ(runtime.signature().outputs[0].name, "y") << format;
    const Kept outputs = infer(
        runtime, list(tensor<float>({"x", DType::kFloat32, {2, 4}}, {1, 0, 0, 0, 0, 1, 0, 0})));
    const auto got = outputs.values<float>(0);
    ASSERT_EQ(got.size(), 6U) << format;
    // The first two rows of the weight: ((0, 37, 74, 111, 148, 185) % 101 - 50) / 100.
    const std::vector<float> wanted = {-0.50F, -0.13F, 0.24F, -0.40F, -0.03F, 0.34F};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6) << format << i;
  }
  EXPECT_THAT(compile(configs_of(kModels / "linear.tflite", "saved_model")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a folder is wanted")));
}

// ---- threads ------------------------------------------------------------------------------------

TEST_F(OpenvinoBackend, FourThreadsOnOneModelGiveTheBitsOfOneThread) {
  host::RuntimeBackend runtime = ready("convolution", 2);
  ASSERT_EQ(runtime.thread_rule(), host::ThreadRule::kAny);
  constexpr std::size_t kInputs = 4;
  constexpr int kRounds = 25;
  constexpr std::size_t kImages = 2;
  std::vector<Tensor> inputs;
  std::vector<std::vector<float>> expected;
  for (std::size_t i = 0; i < kInputs; ++i) {
    std::vector<float> values = ramp(kImages * kImageValues);
    std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i * 17), values.end());
    inputs.push_back(tensor({"x", DType::kFloat32, {2, 3, 32, 32}}, values));
    const std::vector<TensorView> views = {inputs[i].view()};
    Kept outputs;
    ASSERT_THAT(runtime.infer(views, outputs), IsOk());
    expected.push_back(outputs.values<float>(0));
  }
  ASSERT_NE(expected[0], expected[1]);
  std::vector<int> differing(kInputs, 0);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kInputs);
    for (std::size_t i = 0; i < kInputs; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < kRounds; ++round) {
          Kept outputs;
          const std::vector<TensorView> views = {inputs[i].view()};
          const bool same =
              runtime.infer(views, outputs).ok() && outputs.values<float>(0) == expected[i];
          differing[i] += same ? 0 : 1;
        }
      });
    }
  }
  EXPECT_THAT(differing, Each(0));
}

}  // namespace
}  // namespace assay
