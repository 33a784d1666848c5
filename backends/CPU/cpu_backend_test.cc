// The built backend as Assay uses it: found by its manifest, opened, called through src/host.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "host/built_backend_test_support.h"
#include "tensor/convert.h"

// ONNX Runtime is not built with ThreadSanitizer, which would miss its locks and see races where
// there are none. Ours are still checked.
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
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// ---- a run of the backend in a few words --------------------------------------------------------

class Log : public host::LogSink {
 public:
  void write(std::uint32_t /*level*/, std::string_view line) override {
    const std::lock_guard lock(mutex_);
    text_.append(line).append("\n");
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

Log& test_log() {
  static Log log;  // the boundary wants it to live as long as the process
  return log;
}

const host::Library& library() {
  static const host::Library kOpened =
      host::testing::open_built("CPU", ASSAY_CPU_BACKENDS, &test_log());
  return kOpened;
}

class CpuBackend : public BuiltBackend {
 protected:
  CpuBackend() : BuiltBackend(library(), "cpu") {}

  host::RuntimeBackend ready(const std::string& model, std::int64_t batch_size = 1) const {
    return ready_from(configs_of(model_path(model)), batch_size);
  }
};

// ---- what it is ---------------------------------------------------------------------------------

TEST_F(CpuBackend, VersionNamesTheRuntimeAndItself) {
  auto runtime = host::RuntimeBackend::create(library());
  ASSERT_THAT(runtime, IsOk());
  const auto version = runtime->version();
  ASSERT_THAT(version, IsOk());
  EXPECT_THAT(*version,
              MatchesRegex("ONNX Runtime [0-9.]+(, LibTorch [0-9.]+)?(, OpenVINO [0-9.]+)?, "
                           "CPU backend [0-9.]+"));
}

TEST_F(CpuBackend, ProbeFindsTheHost) {
  const auto probed = host::probe(library());
  ASSERT_THAT(probed, IsOk());
  ASSERT_TRUE(probed->has_value());
  EXPECT_TRUE((*probed)->available) << (*probed)->reason;
  EXPECT_EQ((*probed)->devices.size(), 1U);
}

// ---- compile ------------------------------------------------------------------------------------

TEST_F(CpuBackend, CompileResultSaysWhatWasCompiled) {
  const auto result = compile(configs_of(model_path("convolution")));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["compile_status"], "success");
  EXPECT_EQ((*result)["compile_precision"], "FP32");
  EXPECT_EQ((*result)["executed_precision"]["FLOAT32"], 1.0);
  EXPECT_EQ((*result)["executed_precision"]["summary"], "FP32");
  EXPECT_EQ((*result)["input_type"], Json::array({"FLOAT32"}));
  EXPECT_EQ((*result)["sg_percent"], 100);
  const Json& segment = (*result)["segments"][0];
  EXPECT_EQ(segment["input_tensor_map"], Json({{"x", {-1, 3, 32, 32}}}));
  EXPECT_EQ(segment["compiled_model"][0]["compiled_bs"], 1);
  const fs::path object =
      artifact() / segment["compiled_model"][0]["compiled_obj"].get<std::string>();
  EXPECT_EQ(*read_file(object), *read_file(model_path("convolution")));
}

TEST_F(CpuBackend, CompilingTwiceGivesTheSameBytes) {
  const auto first = compile(configs_of(model_path("convolution")));
  ASSERT_THAT(first, IsOk());
  std::map<fs::path, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(artifact())) {
    if (entry.is_regular_file()) files[entry.path()] = *read_file(entry.path());
  }
  EXPECT_EQ(files.size(), 2U);  // the model and options.json: the profile of the trial run is gone
  fs::remove_all(artifact());
  fs::create_directory(artifact());
  EXPECT_EQ(*compile(configs_of(model_path("convolution"))), *first);
  for (const auto& [path, content] : files) EXPECT_EQ(*read_file(path), content) << path;
}

TEST_F(CpuBackend, HalfPrecisionModelIsKnownToComputeInFloat32) {
  const auto result = compile(configs_of(model_path("half")));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["input_type"], Json::array({"FLOAT16"}));
  EXPECT_EQ((*result)["executed_precision"]["FLOAT32"], 1.0);
  EXPECT_THAT((*result)["executed_precision"]["note"].get<std::string>(), HasSubstr("FLOAT16"));
}

TEST_F(CpuBackend, QuantisedModelIsKnownToComputeInInt8) {
  const auto result = compile(configs_of(model_path("quantised")));
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["compile_precision"], "INT8");
  EXPECT_EQ((*result)["executed_precision"]["INT8"], 1.0);
  EXPECT_EQ((*result)["executed_precision"]["summary"], "INT8");
}

TEST_F(CpuBackend, WithoutOptimisationTheQuantisedModelComputesInFloat32) {
  Json configs = configs_of(model_path("quantised"));
  configs["interact_info"]["graph_optimization"] = "none";
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["compile_precision"], "FP32");
  EXPECT_EQ((*result)["optimizations"]["graph_optimization"], "none");
}

TEST_F(CpuBackend, UnknownFormatNamesTheKnownOnes) {
  Json configs = configs_of(model_path("half"));
  configs["model_info"]["model_format"] = "ncnn";
  EXPECT_THAT(compile(configs), StatusIs(StatusCode::kUnimplemented,
                                         AllOf(HasSubstr("\"ncnn\""), HasSubstr("onnx, pt"))));
}

TEST_F(CpuBackend, BadOptionsNameWhatIsAccepted) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"intra_op_threads", "0"},
                                                        {"intra_op_threads", "many"},
                                                        {"inter_op_threads", "-1"},
                                                        {"graph_optimization", "fast"},
                                                        {"execution_mode", "serial"}}) {
    Json configs = configs_of(model_path("half"));
    configs["interact_info"][name] = value;
    EXPECT_THAT(compile(configs), StatusIs(StatusCode::kInvalidArgument,
                                           AllOf(HasSubstr(name), HasSubstr("\"" + value + "\""),
                                                 HasSubstr("accepted"))));
  }
}

TEST_F(CpuBackend, ThreadsMayComeAsANumber) {
  Json configs = configs_of(model_path("half"));
  configs["interact_info"]["intra_op_threads"] = 2;
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["optimizations"]["intra_op_threads"], 2);
}

TEST_F(CpuBackend, CorruptModelIsRefusedWithTheRuntimesReasonInTheLogNotOnStandardError) {
  const std::string whole = *read_file(model_path("convolution"));
  ASSERT_THAT(write_file_atomic(folder_ / "cut.onnx", whole.substr(0, whole.size() / 2)), IsOk());
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(compile(configs_of(folder_ / "cut.onnx")),
              StatusIs(StatusCode::kDataLoss, HasSubstr("cut.onnx")));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(CpuBackend, OperatorThatDoesNotExistIsNamed) {
  EXPECT_THAT(compile(configs_of(model_path("unknown_op"))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("NoSuchOperator")));
}

TEST_F(CpuBackend, NewerIrAndOpsetAreRefused) {
  EXPECT_THAT(compile(configs_of(model_path("ir99"))), Not(IsOk()));
  EXPECT_THAT(compile(configs_of(model_path("opset999"))), Not(IsOk()));
}

TEST_F(CpuBackend, MissingModelIsNotFound) {
  EXPECT_THAT(compile(configs_of(folder_ / "gone.onnx")),
              StatusIs(StatusCode::kNotFound, HasSubstr("gone.onnx")));
}

TEST_F(CpuBackend, TextAndSequencesAreRefused) {
  EXPECT_THAT(compile(configs_of(model_path("string_input"))),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("\"text\"")));
  EXPECT_THAT(compile(configs_of(model_path("sequence_output"))),
              StatusIs(StatusCode::kUnimplemented, HasSubstr("\"s\"")));
}

// ---- external data ------------------------------------------------------------------------------

TEST_F(CpuBackend, ArtifactHoldsExternalDataAndCanBeMoved) {
  const fs::path before = fs::current_path();
  fs::current_path("/");
  const Json configs = configs_of(model_path("external/model"));
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  fs::create_directory(folder_ / "moved");
  fs::rename(artifact(), folder_ / "moved" / "elsewhere");
  fs::create_directory_symlink(folder_ / "moved" / "elsewhere", artifact());
  auto runtime = load(configs, *result);
  ASSERT_THAT(runtime, IsOk());
  const Kept outputs =
      infer(*runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {10, 10, 10, 10})));
  fs::current_path(before);
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(10, 20, 30, 40));
}

TEST_F(CpuBackend, ExternalDataOutsideTheFolderIsRefused) {
  for (const char* name : {"external/parent", "external/absolute"}) {
    EXPECT_THAT(compile(configs_of(model_path(name))),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("w.bin")))
        << name;
  }
}

TEST_F(CpuBackend, MissingExternalDataIsNamed) {
  EXPECT_THAT(compile(configs_of(model_path("external/missing"))),
              StatusIs(StatusCode::kNotFound, HasSubstr("missing.bin")));
}

TEST_F(CpuBackend, PathsWithSpacesAndOtherLettersWork) {
  const fs::path odd = folder_ / "modèle α 模型.onnx";
  fs::copy_file(model_path("dynamic_batch"), odd);
  const Json configs = configs_of(odd);
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(load(configs, *result), IsOk());
}

// ---- batch --------------------------------------------------------------------------------------

TEST_F(CpuBackend, FreeBatchServesEverySize) {
  for (const std::int64_t batch : {1, 3, 8}) {
    fs::remove_all(artifact());
    fs::create_directory(artifact());
    host::RuntimeBackend runtime = ready("dynamic_batch", batch);
    EXPECT_EQ(runtime.loaded_batch_size(), batch);
    const auto count = static_cast<std::size_t>(batch);
    const Kept outputs =
        infer(runtime, list(tensor({"x", DType::kFloat32, {batch, 4}}, ramp(count * 4))));
    EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{batch, 3}));
  }
}

TEST_F(CpuBackend, FixedBatchRefusesAnotherSizeWithTheReason) {
  const Json configs = configs_of(model_path("fixed_batch1"));
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ((*result)["max_batch_size"], 1);
  EXPECT_THAT(load(configs, *result, 1), IsOk());
  EXPECT_THAT(load(configs, *result, 8),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"x\""), HasSubstr("batch is fixed"), HasSubstr("8"))));
}

TEST_F(CpuBackend, FixedBatchThatNoBatchSizeFitsIsRefusedAtOnce) {
  Json configs = configs_of(model_path("fixed_batch2"));
  configs["workload"]["batch_sizes"] = {1, 8};
  EXPECT_THAT(compile(configs),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("run batch size 2")));
}

// The model info may say that one sample takes two rows; a batch of 1 is then the fixed 2.
TEST_F(CpuBackend, SamplesOfSeveralRowsCount) {
  Json configs = configs_of(model_path("fixed_batch2"));
  configs["model_info"]["input_shape"] = {{"x", {2, 4}}};
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(load(configs, *result, 1), IsOk());
  EXPECT_THAT(load(configs, *result, 2), StatusIs(StatusCode::kInvalidArgument, HasSubstr("4")));
}

TEST_F(CpuBackend, InputThatIsNotBatchedIsLeftAlone) {
  Json configs = configs_of(model_path("fixed_batch2"));
  configs["model_info"]["batch_axes"] = {{"x", nullptr}};
  configs["workload"]["batch_sizes"] = {8};
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(load(configs, *result, 8), IsOk());
}

TEST_F(CpuBackend, LoadReplacesWhatWasLoaded) {
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

TEST_F(CpuBackend, ArtifactOfSomebodyElseIsRefused) {
  const Json configs = configs_of(model_path("dynamic_batch"));
  EXPECT_THAT(load(configs, Json::object()), StatusIs(StatusCode::kNotFound, HasSubstr("options")));
  ASSERT_THAT(write_file_atomic(artifact() / "options.json", "{\"format\": 1}"), IsOk());
  EXPECT_THAT(load(configs, Json::object()), StatusIs(StatusCode::kDataLoss, HasSubstr("options")));
}

// ---- values -------------------------------------------------------------------------------------

TEST_F(CpuBackend, MatMulIsRight) {
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

TEST_F(CpuBackend, EveryDTypeCrossesUnchanged) {
  host::RuntimeBackend runtime = ready("identities");
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : runtime.signature().inputs) {
    Tensor one = *Tensor::make({spec.name, spec.dtype, {1, 3}});
    unsigned char next = 0;
    for (std::byte& byte : one.bytes()) {
      byte = static_cast<std::byte>(spec.dtype == DType::kBool ? next++ % 2 : 17 + 3 * next++);
    }
    inputs.push_back(std::move(one));
  }
  ASSERT_EQ(inputs.size(), 9U);
  const Kept outputs = infer(runtime, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(outputs.data.at(i).size(), inputs[i].bytes().size());
    EXPECT_EQ(
        std::memcmp(outputs.data.at(i).data(), inputs[i].bytes().data(), inputs[i].bytes().size()),
        0)
        << inputs[i].spec().name;
  }
}

TEST_F(CpuBackend, HalfPrecisionInAndOut) {
  host::RuntimeBackend runtime = ready("half");
  const std::uint16_t one = float_to_half(1.0F);
  const Kept outputs =
      infer(runtime, list(tensor<std::uint16_t>({"x", DType::kFloat16, {1, 4}}, {one, 0, 0, 0})));
  const auto got = outputs.values<std::uint16_t>(0);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(half_to_float(got[0]), 0.0F);  // -1 before Relu
  EXPECT_EQ(got[2], float_to_half(0.48F));
}

TEST_F(CpuBackend, QuantisedModelStaysNearItsFloatForm) {
  host::RuntimeBackend runtime = ready("quantised");
  const Kept outputs =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 8}}, {1, 0, 0, 0, 0, 0, 0, 0})));
  // Row 0 of the weight: (0, 7, 14, 21) - 20, each over 32; outputs are multiples of 1/16.
  const std::vector<float> got = outputs.values<float>(0);
  ASSERT_EQ(got.size(), 4U);
  const std::vector<float> exact = {-20.0F / 32, -13.0F / 32, -6.0F / 32, 1.0F / 32};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i], exact[i], 1.0 / 32) << i;
}

TEST_F(CpuBackend, ScalarsAreTensorsOfOneElement) {
  host::RuntimeBackend sum = ready("scalar_output");
  const Kept summed = infer(sum, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {1, 2, 3, 4})));
  EXPECT_TRUE(summed.shapes.at(0).empty());
  EXPECT_THAT(summed.values<float>(0), ElementsAre(10));

  fs::remove_all(artifact());
  fs::create_directory(artifact());
  host::RuntimeBackend scaled = ready("scalar_input");
  const Kept outputs = infer(scaled, list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {1, 2}),
                                          tensor<float>({"factor", DType::kFloat32, {}}, {3})));
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(3, 6));
}

TEST_F(CpuBackend, OutputWithoutElementsIsGiven) {
  host::RuntimeBackend runtime = ready("empty_output");
  const Kept outputs =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {1, 2, 3, 4})));
  EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{1, 0}));
}

TEST_F(CpuBackend, OutputWhoseShapeDependsOnTheData) {
  host::RuntimeBackend runtime = ready("dynamic_output");
  const Kept two =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {0, 5, 0, 7})));
  EXPECT_EQ(two.shapes.at(0), (std::vector<std::int64_t>{2, 2}));
  EXPECT_THAT(two.values<std::int64_t>(0), ElementsAre(0, 0, 1, 3));
  const Kept none =
      infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 4}}, {0, 0, 0, 0})));
  EXPECT_EQ(none.shapes.at(0), (std::vector<std::int64_t>{2, 0}));
}

TEST_F(CpuBackend, OutputWhoseSymbolTheModelGetsWrongIsStillRight) {
  host::RuntimeBackend runtime = ready("wrong_symbol");
  const Kept outputs = infer(runtime, list(tensor({"x", DType::kFloat32, {3, 4}}, ramp(12))));
  EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{4, 3}));
}

TEST_F(CpuBackend, RankThatTheModelLeavesOpenIsToldByTheTrialRun) {
  host::RuntimeBackend runtime = ready("open_rank");
  EXPECT_EQ(runtime.signature().outputs[0].shape, (Shape{-1, -1, -1}));
  const Kept outputs = infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {1, 2}),
                                           tensor<std::uint8_t>({"flat", DType::kBool, {}}, {0})));
  EXPECT_EQ(outputs.shapes.at(0), (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(1, 2));
}

TEST_F(CpuBackend, OutputThatIsAConstantIsGiven) {
  host::RuntimeBackend runtime = ready("constant_output");
  const Kept outputs = infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {1, 2})));
  EXPECT_THAT(outputs.values<float>(1), ElementsAre(7, 8, 9));
}

TEST_F(CpuBackend, NanIsAValueNotAnError) {
  host::RuntimeBackend runtime = ready("nan_output");
  const Kept outputs = infer(runtime, list(tensor<float>({"x", DType::kFloat32, {1, 2}}, {-1, 4})));
  EXPECT_TRUE(std::isnan(outputs.values<float>(0)[0]));
  EXPECT_EQ(outputs.values<float>(0)[1], 2.0F);
}

TEST_F(CpuBackend, SeveralInputsAndOutputsKeepTheirPlaces) {
  host::RuntimeBackend runtime = ready("two_by_two");
  const Kept outputs = infer(runtime, list(tensor<float>({"a", DType::kFloat32, {1, 2}}, {5, 7}),
                                           tensor<float>({"b", DType::kFloat32, {1, 2}}, {1, 2})));
  EXPECT_THAT(outputs.values<float>(0), ElementsAre(6, 9));
  EXPECT_THAT(outputs.values<float>(1), ElementsAre(4, 5));
}

TEST_F(CpuBackend, IndexOutsideTheTableFailsTheCallAndTheNextOneWorks) {
  host::RuntimeBackend runtime = ready("embedding");
  const Tensor bad = tensor<std::int32_t>({"ids", DType::kInt32, {1, 2}}, {3, 100});
  Kept outputs;
  const std::vector<TensorView> views = {bad.view()};
  EXPECT_THAT(runtime.infer(views, outputs),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("Gather")));
  const Kept good =
      infer(runtime, list(tensor<std::int32_t>({"ids", DType::kInt32, {1, 2}}, {3, 99})));
  EXPECT_EQ(good.shapes.at(0), (std::vector<std::int64_t>{2, 4}));
}

// ---- threads ------------------------------------------------------------------------------------

TEST_F(CpuBackend, FourThreadsOnOneSessionGiveTheBitsOfOneThread) {
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
  EXPECT_THAT(differing, ::testing::Each(0));
}

TEST_F(CpuBackend, AffinityOfTheProcessIsObeyedAndKept) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const auto thread_count = [] {
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  };
  const auto threads_before = thread_count();
  host::RuntimeBackend runtime = ready("convolution");
  // One usable CPU: one thread does the work, and that is the caller.
  EXPECT_EQ(thread_count(), threads_before);
  infer(runtime, list(tensor({"x", DType::kFloat32, {1, 3, 32, 32}}, ramp(kImageValues))));
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&after, &one));
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST_F(CpuBackend, ParallelExecutionGivesTheSameValues) {
  Json configs = configs_of(model_path("two_by_two"));
  configs["interact_info"] = {{"execution_mode", "parallel"}, {"inter_op_threads", "2"}};
  const auto result = compile(configs);
  ASSERT_THAT(result, IsOk());
  auto runtime = load(configs, *result);
  ASSERT_THAT(runtime, IsOk());
  const Kept outputs = infer(*runtime, list(tensor<float>({"a", DType::kFloat32, {1, 2}}, {5, 7}),
                                            tensor<float>({"b", DType::kFloat32, {1, 2}}, {1, 2})));
  EXPECT_THAT(outputs.values<float>(1), ElementsAre(4, 5));
}

}  // namespace
}  // namespace assay
