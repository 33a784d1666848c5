#include "workload/plan.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"

namespace assay::workload {
namespace {

namespace fs = std::filesystem;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kModel = R"({
"name": "net", "model_path": "net.onnx", "framework": "Onnx", "model_format": "onnx",
"inputs": "x", "outputs": "y", "input_shape": {"x": [1, 3]}, "input_type": "FLOAT32",
"dataset_name": "set", "max_batch_size": 64, "metric": {"name": "top1"}
})";

// A world with one task, "net", in a folder of its own.
class PlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(::testing::TempDir()) / (std::string("plan \xC3\xA4 ") + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_ / "workloads");
    fs::create_directories(root_ / "model_zoo");
    write("workloads/net.json", R"({"model": "net"})");
    write("model_zoo/net.json", kModel);
    write("model_zoo/net.onnx", "bytes");
    request_.task = "net";
    request_.output = root_ / "out";
    request_.workloads_folder = root_ / "workloads";
    request_.model_zoo_folder = root_ / "model_zoo";
    request_.fetched_models_folder = root_ / "cache";
    model_.format = "onnx";
    model_.signature = {{{"x", DType::kFloat32, {-1, 3}}}, {{"y", DType::kFloat32, {-1, 2}}}};
    model_.batch = {true, 1, ""};
    context_.read_model = [this](const fs::path& path, std::string_view) -> Result<ModelFile> {
      ModelFile model = model_;
      model.path = path;
      return model;
    };
    context_.hardware_types = {"CPU", "OPENVINO"};
  }

  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(root_ / name) << text;
  }

  std::string path(const std::string& name) const { return (root_ / name).native(); }

  // The file `name` with `from` replaced by `to`.
  void change(const std::string& name, std::string text, const std::string& from,
              const std::string& to) const {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write(name, text.replace(at, from.size(), to));
  }

  Result<Plan> plan() const { return make_plan(request_, context_); }

  // The message of a refusal, which must leave no output folder.
  std::string refusal() const {
    const auto result = plan();
    EXPECT_FALSE(result.ok());
    EXPECT_FALSE(fs::exists(request_.output));
    return result.status().message();
  }

  fs::path root_;
  RunRequest request_;
  PlanContext context_;
  ModelFile model_;
};

TEST_F(PlanTest, OfAPlainTaskHasTheDefaults) {
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->workload.task, "net");
  EXPECT_EQ(result->model.model_path, root_ / "model_zoo" / "net.onnx");
  EXPECT_TRUE(result->model_file);
  EXPECT_THAT(result->batch_sizes, ElementsAre(1, 8));
  EXPECT_EQ(result->batch_sizes_origin, Origin::kDefault);
  EXPECT_FALSE(result->generated_data);
  EXPECT_EQ(result->rounds, 3);
  EXPECT_THAT(result->warnings, IsEmpty());
  EXPECT_THAT(result->notes, IsEmpty());
  EXPECT_TRUE(fs::is_directory(request_.output));
}

TEST_F(PlanTest, TakesTheCommandLineBeforeTheWorkload) {
  write(
      "workloads/net.json",
      R"({"model": "net", "clients": 2, "iterations": 7, "batch_sizes": [2], "data_percent": 50})");
  const auto from_file = plan();
  ASSERT_THAT(from_file, IsOk());
  EXPECT_EQ(from_file->workload.clients, 2);
  EXPECT_EQ(from_file->workload.iterations, 7);
  EXPECT_EQ(from_file->workload.data_percent, 50);
  EXPECT_THAT(from_file->batch_sizes, ElementsAre(2));
  EXPECT_EQ(from_file->batch_sizes_origin, Origin::kWorkload);
  request_.clients = 3;
  request_.iterations = 9;
  request_.data_percent = 100;
  request_.batch_sizes = {4, 1, 4};
  request_.compile_only = true;
  const auto from_options = plan();
  ASSERT_THAT(from_options, IsOk());
  EXPECT_EQ(from_options->workload.clients, 3);
  EXPECT_EQ(from_options->workload.iterations, 9);
  EXPECT_EQ(from_options->workload.data_percent, 100);
  EXPECT_TRUE(from_options->workload.compile_only);
  EXPECT_THAT(from_options->batch_sizes, ElementsAre(4, 1));
  EXPECT_EQ(from_options->batch_sizes_origin, Origin::kCommandLine);
}

TEST_F(PlanTest, RefusesAnUnknownTaskWithTheNearest) {
  request_.task = "nett";
  EXPECT_EQ(refusal(), "unknown task \"nett\" (did you mean \"net\"?)");
  request_.task = "something-else";
  write("workloads/other.json", "{}");
  EXPECT_EQ(refusal(), "unknown task \"something-else\"; tasks are: net, other");
  write("workloads/netz.json", "{}");
  request_.task = "netzz";
  EXPECT_EQ(refusal(), "unknown task \"netzz\" (did you mean \"netz\"?)");
  write("workloads/netty.json", "{}");
  request_.task = "nettz";
  EXPECT_EQ(refusal(), "unknown task \"nettz\" (did you mean \"netty\" or \"netz\"?)");
  request_.task = "../model_zoo/net";
  EXPECT_THAT(refusal(), StartsWith("unknown task \"../model_zoo/net\""));
}

TEST_F(PlanTest, RefusesUnknownHardwareWithTheNearest) {
  request_.hardware_type = "OPENVIN";
  EXPECT_EQ(refusal(),
            "unknown hardware type \"OPENVIN\" (did you mean \"OPENVINO\"?); "
            "hardware types are: CPU, OPENVINO");
  request_.hardware_type = "TPU9000";
  EXPECT_EQ(refusal(), "unknown hardware type \"TPU9000\"; hardware types are: CPU, OPENVINO");
}

TEST_F(PlanTest, NeedsATaskOrAModelButNotBoth) {
  request_.task = "";
  EXPECT_EQ(refusal(), "accepted: either --task NAME or --model FILE, found neither");
  request_.task = "net";
  request_.model = "x.onnx";
  EXPECT_EQ(refusal(), "accepted: either --task NAME or --model FILE, found both");
}

TEST_F(PlanTest, RefusesNumbersOutOfRangeAllAtOnce) {
  request_.clients = 0;
  request_.iterations = -5;
  request_.data_percent = 101;
  request_.timeout_s = 0;
  request_.batch_sizes = {0, 65, 8};
  EXPECT_EQ(refusal(),
            "--clients: found 0, accepted: a whole number from 1 to 4096\n"
            "--iterations: found -5, accepted: a whole number from 1 to 1000000000\n"
            "--data_percent: found 101, accepted: a number from 1 to 100\n"
            "--timeout: found 0, accepted: seconds, a number from 0.001 to 86400 (a day)\n"
            "--batch_sizes: found 0, accepted: a whole number of at least 1\n"
            "--batch_sizes: found 65, accepted: at most 64, max_batch_size");
}

TEST_F(PlanTest, RefusesMoreThanARunCanHave) {
  request_.clients = 4097;
  request_.iterations = std::numeric_limits<std::int64_t>::max();
  request_.timeout_s = 1e300;
  EXPECT_EQ(refusal(),
            "--clients: found 4097, accepted: a whole number from 1 to 4096\n"
            "--iterations: found 9223372036854775807, accepted: a whole number from 1 to "
            "1000000000\n"
            "--timeout: found 1e+300, accepted: seconds, a number from 0.001 to 86400 (a day)");
  request_.clients = 4096;
  request_.iterations = 1;
  request_.timeout_s = 86'400;
  EXPECT_THAT(plan(), IsOk());
}

TEST_F(PlanTest, RefusesMoreThanARunCanHaveInAWorkloadToo) {
  write("workloads/net.json",
        "{\"model\": \"net\",\n\"clients\": 4097,\n\"max_duration_s\": 86401}");
  EXPECT_EQ(refusal(), path("workloads/net.json") +
                           ":2:12: \"clients\": found 4097, accepted: a whole number from 1 to "
                           "4096\n" +
                           path("workloads/net.json") +
                           ":3:19: \"max_duration_s\": found 86401, accepted: a number from 0.001 "
                           "to 86400");
}

TEST_F(PlanTest, RefusesNumbersThatAreNone) {
  request_.data_percent = std::numeric_limits<double>::quiet_NaN();
  request_.batch_sizes = std::vector<std::int64_t>{};
  EXPECT_EQ(refusal(),
            "--data_percent: found nan, accepted: a number from 1 to 100\n"
            "--batch_sizes: found none, accepted: at least one, such as --batch_sizes 1,8");
}

TEST_F(PlanTest, PointsAtABatchSizeOfTheWorkload) {
  write("workloads/net.json", "{\"model\": \"net\",\n\"batchsizes\": [1, 128]}");
  EXPECT_EQ(refusal(), path("workloads/net.json") +
                           ":2:19: \"batchsizes[1]\": found 128, accepted: at most 64, "
                           "max_batch_size");
}

TEST_F(PlanTest, RefusesABatchWhoseTensorsCannotBeAddressed) {
  change("model_zoo/net.json", kModel, "\"max_batch_size\": 64", "\"max_batch_size\": 1000000000");
  change("model_zoo/net.json", kModel, "[1, 3]", "[1, 9000000000000000000]");
  model_.signature.inputs[0].shape = {-1, -1};
  request_.batch_sizes = {8};
  EXPECT_THAT(refusal(), StartsWith("--batch_sizes: found 8, "));
}

TEST_F(PlanTest, RefusesAnotherBatchThanTheModelFixes) {
  model_.signature.inputs[0].shape = {1, 3};
  EXPECT_THAT(plan()->batch_sizes, ElementsAre(1));
  EXPECT_EQ(plan()->batch_sizes_origin, Origin::kModel);
  fs::remove(request_.output);
  request_.batch_sizes = {1, 8};
  EXPECT_EQ(refusal(), "--batch_sizes: found 8, but the model fixes its batch; accepted: 1");
}

TEST_F(PlanTest, ReportsEveryProblemOfABrokenWorkload) {
  write("workloads/net.json", "{\"model\": \"net\",\n\"client\": 1,\n\"iterations\": \"5\"}");
  EXPECT_EQ(refusal(), path("workloads/net.json") +
                           ":2:1: \"client\": unknown key (did you mean \"clients\"?)\n" +
                           path("workloads/net.json") +
                           ":3:15: \"iterations\": found text \"5\", accepted: a whole number from "
                           "1 to 1000000000");
  write("workloads/net.json", "{\"model\": \"net\"");
  EXPECT_EQ(refusal(),
            path("workloads/net.json") + ":1:16: found the end of the file, expected ',' or '}'");
}

TEST_F(PlanTest, RefusesAnUnknownModelWhereItIsNamed) {
  write("workloads/net.json", R"({"model": "nett"})");
  EXPECT_EQ(refusal(), path("workloads/net.json") +
                           ":1:11: \"model\": unknown model \"nett\" (did you mean \"net\"?)");
}

TEST_F(PlanTest, NamesAMissingModelFile) {
  fs::remove(root_ / "model_zoo" / "net.onnx");
  EXPECT_EQ(refusal(), path("model_zoo/net.json") + ":2:30: \"model_path\": no file \"" +
                           path("model_zoo/net.onnx") + "\"");
}

TEST_F(PlanTest, SaysHowToGetAFetchedModel) {
  change("model_zoo/net.json", kModel, "net.onnx", "fetched:net/net.onnx");
  EXPECT_EQ(refusal(), "model file \"" + path("cache/net/net.onnx") +
                           "\" is missing, get it with: ./assay fetch net");
  change("model_zoo/net.json", kModel, "net.onnx", "built.onnx");
  context_.is_fetched = [](const std::string& task) { return task == "net"; };
  EXPECT_EQ(refusal(), "model file \"" + path("model_zoo/built.onnx") +
                           "\" is missing, get it with: ./assay fetch net");
}

TEST_F(PlanTest, PassesOnWhatIsWrongWithAModelFile) {
  context_.read_model = [](const fs::path&, std::string_view) -> Result<ModelFile> {
    return data_loss("net.onnx: truncated");
  };
  EXPECT_EQ(refusal(), "net.onnx: truncated");
}

TEST_F(PlanTest, DoesNotHoldInfoAgainstAFormatThatCannotBeRead) {
  context_.read_model = [](const fs::path&, std::string_view) -> Result<ModelFile> {
    return unimplemented("no reader for tflite");
  };
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_FALSE(result->model_file);
  EXPECT_THAT(result->notes,
              ElementsAre("inputs and outputs are those of the model info of \"net\", "
                          "which is held against ONNX models only; the model is of "
                          "format \"onnx\""));
}

TEST_F(PlanTest, RefusesModelInfoThatContradictsTheModel) {
  model_.signature.inputs[0] = {"x", DType::kInt64, {-1, 3}};
  EXPECT_EQ(refusal(), path("model_zoo/net.json") +
                           ":3:76: \"input_type\": input \"x\": model info says FLOAT32 [1,3], the "
                           "model wants INT64 [?,3]: another dtype");
}

TEST_F(PlanTest, RepeatsTheWarningsOfPublishedFiles) {
  write("model_zoo/net.json", R"({
"name": "net-fp16", "model_path": "net.onnx", "framework": "Onnx", "framework_version": "1",
"model_format": "onnx", "model_precision": "FP32", "inputs": "x", "outputs": "y",
"input_shape": {"x": [1, 3]}, "input_type": "FLOAT32", "dataset_name": "set", "max_batch_size": 64})");
  model_.signature.inputs[0].dtype = DType::kFloat16;
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->warnings, ElementsAre(HasSubstr("the name \"net-fp16\" says fp16"),
                                            HasSubstr("another dtype")));
  EXPECT_EQ(result->model.inputs[0].dtype, DType::kFloat16);
}

TEST_F(PlanTest, WithoutADataSetGeneratesDataAndMeasuresNoAccuracy) {
  change("model_zoo/net.json", kModel, "\"set\"", "null");
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->generated_data);
  EXPECT_TRUE(result->workload.fake_data);
  EXPECT_FALSE(result->workload.test_accuracy);
  EXPECT_THAT(result->notes,
              ElementsAre("accuracy is not measured: the model info of \"net\" names "
                          "no data set"));
}

TEST_F(PlanTest, RefusesWhatThenMeasuresNothing) {
  change("model_zoo/net.json", kModel, "\"set\"", "null");
  write("workloads/net.json", R"({"model": "net", "test_perf": false, "test_numeric": false,
                                  "test_stability": false})");
  EXPECT_EQ(refusal(),
            path("workloads/net.json") +
                ":1:1: measures nothing: only test_accuracy is true, and the model has no "
                "data set");
}

TEST_F(PlanTest, RefusesACriterionThatCannotBeJudged) {
  write("workloads/net.json", R"({"model": "net", "criteria": {"accuracy": {"min": 92.5}}})");
  EXPECT_EQ(refusal(),
            path("workloads/net.json") +
                ":1:51: \"criteria.accuracy.min\": found 92.5, accepted: a number from 0 "
                "to 1, since top1 is a share");
  change("model_zoo/net.json", kModel, "\"set\"", "null");
  EXPECT_EQ(refusal(), path("workloads/net.json") +
                           ":1:43: \"criteria.accuracy\": cannot be judged, since the model has no "
                           "data set");
}

TEST_F(PlanTest, PassesOnWhatIsWrongWithTheDataSet) {
  context_.check_dataset = [](const ModelInfo& info) {
    return not_found(*info.dataset_name + " is missing, get it with: ./assay fetch net");
  };
  EXPECT_THAT(plan(),
              StatusIs(StatusCode::kNotFound, "set is missing, get it with: ./assay fetch net"));
}

TEST_F(PlanTest, LoadsTheReferenceModelAndHoldsItToTheSameInputs) {
  change("model_zoo/net.json", kModel, "\"metric\"", "\"reference_model\": \"base\", \"metric\"");
  EXPECT_EQ(refusal(), path("model_zoo/net.json") +
                           ":4:65: \"reference_model\": unknown model \"base\"; models are: net");
  change("model_zoo/base.json", kModel, "\"net\"", "\"base\"");
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  ASSERT_TRUE(result->reference);
  EXPECT_EQ(result->reference->name, "base");
  fs::remove(request_.output);
  change("model_zoo/base.json", kModel, "[1, 3]", "[1, 4]");
  model_.signature.inputs[0].shape = {-1, -1};
  EXPECT_EQ(refusal(),
            path("model_zoo/net.json") +
                ":4:65: \"reference_model\": \"base\" takes \"x\": [1,4], this model \"x\": "
                "[1,3]; accepted: a model with the same inputs");
}

TEST_F(PlanTest, QuickIsShorterAndSaysHow) {
  write("workloads/net.json", R"({"model": "net", "batch_sizes": [1, 4, 16, 64]})");
  request_.quick = true;
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->workload.iterations, 20);
  EXPECT_EQ(result->workload.max_duration_s, 5);
  EXPECT_EQ(result->workload.data_percent, 10);
  EXPECT_EQ(result->min_accuracy_samples, 200);
  EXPECT_EQ(result->rounds, 1);
  EXPECT_THAT(result->batch_sizes, ElementsAre(1, 64));
  EXPECT_EQ(result->batch_sizes_origin, Origin::kQuick);
  EXPECT_THAT(
      result->notes,
      ElementsAre("--quick: 1 round of at least 20 batches per client and at most 5 s a row, "
                  "accuracy on 10 % of the data set but at least 200 samples; a full run "
                  "decides",
                  "--quick: batch sizes 1 and 64 of 1, 4, 16, 64"));
}

TEST_F(PlanTest, QuickWithoutAccuracyHasNoLeastNumberOfSamples) {
  write("workloads/net.json", R"({"model": "net", "test_accuracy": false, "data_percent": 5})");
  request_.quick = true;
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->workload.data_percent, 5);
  EXPECT_EQ(result->min_accuracy_samples, 1);
  EXPECT_THAT(result->notes.front(), HasSubstr("at most 5 s a row, 5 % of the inputs; a full run"));
}

TEST_F(PlanTest, QuickLeavesAloneWhatTheCommandLineNames) {
  request_.quick = true;
  request_.iterations = 500;
  request_.data_percent = 80;
  request_.batch_sizes = {1, 2, 4};
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->workload.iterations, 500);
  EXPECT_EQ(result->workload.data_percent, 80);
  EXPECT_EQ(result->min_accuracy_samples, 1);
  EXPECT_THAT(result->batch_sizes, ElementsAre(1, 2, 4));
}

TEST_F(PlanTest, SaysThatScenariosAreNotRun) {
  write("workloads/net.json", R"({"model": "net", "scenarios": [{"name": "Server"}]})");
  EXPECT_THAT(
      plan()->warnings,
      ElementsAre("scenario Server is not run: this version measures the closed loop only"));
}

TEST_F(PlanTest, ChecksTheFormOfAnswersBeforeAnyWork) {
  write("answers.json", "{\"a\": [1]}");
  request_.set_options = {"a=1", "b"};
  request_.answers_file = root_ / "answers.json";
  EXPECT_EQ(refusal(), "--set: found \"b\", accepted: name=value\n" + path("answers.json") +
                           ":1:7: \"a\": found a list, accepted: text, a number, true or false, or "
                           "null for the default");
  request_.set_options = {};
  request_.answers_file = root_ / "none.json";
  EXPECT_EQ(refusal(),
            "--answers: cannot open \"" + path("none.json") + "\": No such file or directory");
}

TEST_F(PlanTest, RefusesAFolderThatHoldsAResult) {
  fs::create_directories(request_.output);
  write("out/result.json", "{}");
  EXPECT_THAT(plan(),
              StatusIs(StatusCode::kAlreadyExists,
                       "--output: \"" + path("out") +
                           "\" already holds a result; accepted: another folder, or --resume "
                           "to take that run up"));
  request_.resume = true;
  EXPECT_THAT(plan(), IsOk());
}

TEST_F(PlanTest, RefusesAnOutputThatIsAFile) {
  write("file", "x");
  request_.output = root_ / "file";
  EXPECT_THAT(plan(), StatusIs(StatusCode::kInvalidArgument,
                               "--output: \"" + path("file") + "\" is a file, accepted: a folder"));
  request_.output = root_ / "file" / "below";
  EXPECT_THAT(plan(), ::testing::Not(IsOk()));
  request_.output = "";
  EXPECT_THAT(plan(), StatusIs(StatusCode::kInvalidArgument,
                               "--output: found nothing, accepted: a folder"));
}

TEST_F(PlanTest, RefusesAFullDiskAndRemovesTheFoldersItMade) {
  request_.output = root_ / "a" / "b" / "";
  context_.needed_output_bytes = std::uint64_t{1} << 62;
  EXPECT_THAT(plan(), StatusIs(StatusCode::kResourceExhausted, StartsWith("--output: \"")));
  EXPECT_FALSE(fs::exists(root_ / "a"));
}

TEST_F(PlanTest, OfABareModelNeedsNoFiles) {
  write("my net.onnx", "bytes");
  request_.task = "";
  request_.model = root_ / "my net.onnx";
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->model.name, "my net");
  EXPECT_TRUE(result->generated_data);
  EXPECT_FALSE(result->workload.test_accuracy);
  EXPECT_THAT(result->batch_sizes, ElementsAre(1, 8));
  EXPECT_THAT(result->notes, IsEmpty());
}

TEST_F(PlanTest, OfABareModelNamesWhatIsMissing) {
  request_.task = "";
  request_.model = root_ / "none.onnx";
  request_.dimensions = {"seq"};
  EXPECT_EQ(refusal(),
            "--dim: found \"seq\", accepted: name=value with a whole number of at least "
            "1\n--model: no file \"" +
                path("none.onnx") + "\"");
}

TEST_F(PlanTest, GivesBackendsTheirConfigs) {
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  const Json configs = configs_json(*result, Json{{"threads", 2}});
  EXPECT_EQ(configs["workload"]["batch_sizes"], Json({1, 8}));
  EXPECT_EQ(configs["model_info"]["model_path"], path("model_zoo/net.onnx"));
  EXPECT_EQ(configs["interact_info"]["threads"], 2);
}

TEST_F(PlanTest, IsWholeInTheReport) {
  const auto result = plan();
  ASSERT_THAT(result, IsOk());
  const Json json = to_json(*result);
  EXPECT_EQ(json["task"], "net");
  EXPECT_EQ(json["batch_sizes"], Json({1, 8}));
  EXPECT_EQ(json["batch_sizes_from"], "default");
  EXPECT_EQ(json["options"]["seed"], 1);
  EXPECT_TRUE(json["options"]["timeout_s"].is_null());
}

TEST(CommandLine, RepeatsTheRunInAShell) {
  RunRequest request;
  request.task = "net";
  EXPECT_EQ(command_line(request), "./assay run --task net --hardware_type CPU");
  EXPECT_EQ(command_line(request, "bisect --sample 3"),
            "./assay bisect --sample 3 --task net --hardware_type CPU");
  request.batch_sizes = {1, 8};
  request.clients = 2;
  request.data_percent = 12.5;
  request.set_options = {"note=it's here", "n=1"};
  request.quick = true;
  request.output = "not repeated";
  EXPECT_EQ(
      command_line(request),
      "./assay run --task net --hardware_type CPU --batch_sizes 1,8 --clients 2 --data_percent "
      "12.5 --set 'note=it'\\''s here' --set n=1 --quick");
}

TEST(CommandLine, NamesTheFolderOfABackendThatIsNotFoundWithout) {
  RunRequest request;
  request.task = "net";
  request.backends_folder = "my backends";
  EXPECT_EQ(command_line(request),
            "ASSAY_BACKENDS='my backends' ./assay run --task net --hardware_type CPU");
}

}  // namespace
}  // namespace assay::workload
