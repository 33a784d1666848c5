#include "workload/model_info.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"

namespace assay::workload {
namespace {

namespace fs = std::filesystem;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr const char* kPlain = R"({
"name": "net",
"model_path": "net.onnx",
"framework": "Onnx",
"model_format": "ONNX",
"inputs": "a,b",
"outputs": "y",
"input_shape": {"b": [2, 3], "a": [1, -1]},
"input_type": "float32,LONG",
"weights": "trained"
})";

Result<ModelInfo> parse(std::string_view text,
                        const ModelFolders& folders = {"/zoo", "/cache/models"}) {
  auto file = JsonFile::parse(text, "net.json");
  if (!file.ok()) return file.status();
  return parse_model_info(*file, folders);
}

// kPlain with `from` replaced by `to`.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = kPlain;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(std::string_view text) { return parse(text).status().message(); }

TEST(ModelInfo, ReadsInputsInTheirOrderWithTypeAndShape) {
  const auto info = parse(kPlain);
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->name, "net");
  EXPECT_EQ(info->model_format, "onnx");
  EXPECT_THAT(info->inputs, ElementsAre(TensorSpec{"a", DType::kFloat32, {1, -1}},
                                        TensorSpec{"b", DType::kInt64, {2, 3}}));
  EXPECT_THAT(info->outputs, ElementsAre("y"));
  EXPECT_THAT(info->batch_axes, ElementsAre(Optional(0U), Optional(0U)));
  EXPECT_EQ(info->dataset_name, std::nullopt);
  EXPECT_EQ(info->max_batch_size, std::nullopt);
  EXPECT_EQ(info->weights, "");
  EXPECT_FALSE(info->published_old_form);
  EXPECT_THAT(info->warnings, IsEmpty());
}

TEST(ModelInfo, PassesOnThatConversionsMayLoseValues) {
  EXPECT_FALSE(to_json(*parse(kPlain)).contains("lossy_conversion"));
  const auto info = parse(changed("{\n", "{\n\"lossy_conversion\": true,\n"));
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(to_json(*info)["lossy_conversion"], true);
}

TEST(ModelInfo, MultipliesTheFirstDimensionByTheBatchEvenWhenItIsNotOne) {
  const auto info = parse(kPlain);
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(*batched_shape(*info, 0, 8), (Shape{8, -1}));
  EXPECT_EQ(*batched_shape(*info, 1, 8), (Shape{16, 3}));
}

TEST(ModelInfo, TakesBatchAxesAndInputsWithoutABatch) {
  const auto info =
      parse(changed("\"weights\": \"trained\"", "\"batch_axes\": {\"a\": 1, \"b\": null}"));
  ASSERT_THAT(info, IsOk());
  EXPECT_THAT(info->batch_axes, ElementsAre(Optional(1U), Eq(std::nullopt)));
  EXPECT_EQ(*batched_shape(*info, 0, 8), (Shape{1, 8}));
  EXPECT_EQ(*batched_shape(*info, 1, 8), (Shape{2, 3}));
}

TEST(ModelInfo, DoesNotBatchAScalarInput) {
  const auto info = parse(changed("\"b\": [2, 3]", "\"b\": []"));
  ASSERT_THAT(info, IsOk());
  EXPECT_THAT(info->batch_axes, ElementsAre(Optional(0U), Eq(std::nullopt)));
}

TEST(ModelInfo, TakesTrailingCommasSpacesAndListsOfNames) {
  EXPECT_THAT(parse(changed("\"a,b\"", "\" a , b,\"")), IsOk());
  EXPECT_THAT(parse(changed("\"a,b\"", "[\"a\", \"b\"]")), IsOk());
  EXPECT_THAT(parse(changed("\"float32,LONG\"", "\"FLOAT32,int64,\"")), IsOk());
}

TEST(ModelInfo, TakesModelForNameAndPassesBothOn) {
  const auto info = parse(changed("\"name\"", "\"model\""));
  ASSERT_THAT(info, IsOk());
  const Json json = to_json(*info);
  EXPECT_EQ(json["name"], "net");
  EXPECT_EQ(json["model"], "net");
  EXPECT_EQ(json["inputs"], "a,b");
  EXPECT_EQ(json["input_type"], "FLOAT32,INT64");
  EXPECT_EQ(json["input_shape"].dump(), R"({"a":[1,-1],"b":[2,3]})");
}

TEST(ModelInfo, ResolvesThePathAgainstTheZooWithoutItsOwnName) {
  EXPECT_EQ(parse(kPlain)->model_path, "/zoo/net.onnx");
  EXPECT_EQ(parse(changed("net.onnx", "model_zoo/sub/net.onnx"))->model_path, "/zoo/sub/net.onnx");
  EXPECT_EQ(parse(changed("net.onnx", "/abs/net.onnx"))->model_path, "/abs/net.onnx");
  EXPECT_FALSE(parse(kPlain)->model_found);
  EXPECT_FALSE(parse(kPlain)->fetched);
}

TEST(ModelInfo, FindsAFetchedModelInTheCache) {
  const fs::path cache = fs::path(::testing::TempDir()) / "fetched models";
  fs::create_directories(cache / "x");
  std::ofstream(cache / "x" / "net.onnx") << "x";
  const auto named = parse(changed("net.onnx", "fetched:x/net.onnx"), {"/zoo", cache});
  ASSERT_THAT(named, IsOk());
  EXPECT_TRUE(named->fetched && named->model_found);
  EXPECT_EQ(named->model_path, cache / "x" / "net.onnx");
  const auto plain = parse(changed("net.onnx", "x/net.onnx"), {"/zoo", cache});
  ASSERT_THAT(plain, IsOk());
  EXPECT_TRUE(plain->fetched && plain->model_found);
}

TEST(ModelInfo, TakesAPackageReferenceWithItsChecksum) {
  const std::string sum(64, 'A');
  const auto info = parse(changed(
      "\"net.onnx\"",
      R"({"package": "pypi:net-model==1.0", "file": "d/net.onnx", "sha256": ")" + sum + "\"}"));
  ASSERT_THAT(info, IsOk());
  ASSERT_TRUE(info->package);
  EXPECT_EQ(info->package->sha256, std::string(64, 'a'));
  EXPECT_EQ(info->model_path, "/cache/models/net/net.onnx");
  EXPECT_TRUE(info->fetched);
  EXPECT_EQ(
      error_of(changed("\"net.onnx\"", R"({"package": "pipy:net", "file": "f", "sha256": "12"})")),
      "net.json:3:27: \"model_path.package\": found \"pipy:net\", accepted: "
      "\"registry:name==version\", the registry one of pypi, npm, maven, debian\n"
      "net.json:3:62: \"model_path.sha256\": found \"12\", accepted: 64 hexadecimal digits");
}

struct Case {
  const char* from;
  const char* to;
  const char* message;
};

class BadModelInfo : public ::testing::TestWithParam<Case> {};

TEST_P(BadModelInfo, IsRefusedWithPlaceKeyFoundAndAccepted) {
  EXPECT_EQ(error_of(changed(GetParam().from, GetParam().to)), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadModelInfo,
    ::testing::Values(
        Case{"\"framework\"", "\"framwork\"",
             "net.json:1:1: \"framework\": missing, accepted: text that is not empty\n"
             "net.json:4:1: \"framwork\": unknown key (did you mean \"framework\"?)"},
        Case{"\"name\": \"net\",", "",
             "net.json:1:1: \"name\": missing, accepted: the model's name, as \"name\" or "
             "\"model\""},
        Case{"\"name\": \"net\",", "\"name\": \"net\", \"model\": \"other\",",
             "net.json:2:25: \"model\": found \"other\", but \"name\" is \"net\"; accepted: one "
             "name"},
        Case{"\"a,b\"", "7",
             "net.json:6:11: \"inputs\": found 7, accepted: names separated by commas"},
        Case{"\"a,b\"", "\",\"",
             "net.json:6:11: \"inputs\": found no name, accepted: names separated by commas\n"
             "net.json:8:17: \"input_shape.b\": not among the inputs ()\n"
             "net.json:8:30: \"input_shape.a\": not among the inputs ()\n"
             "net.json:9:15: \"input_type\": found 2 types for 0 inputs (), accepted: one type per "
             "input, in the order of \"inputs\""},
        Case{"\"a,b\"", "\"a,a,b\"",
             "net.json:6:11: \"inputs\": found \"a\" twice, accepted: each name once\n"
             "net.json:9:15: \"input_type\": found 2 types for 3 inputs (\"a\", \"a\", \"b\"), "
             "accepted: one type per input, in the order of \"inputs\""},
        Case{"float32,LONG", "float32",
             "net.json:9:15: \"input_type\": found 1 types for 2 inputs (\"a\", \"b\"), accepted: "
             "one "
             "type per input, in the order of \"inputs\""},
        Case{"LONG", "STRING",
             "net.json:9:15: \"input_type\": \"STRING\" is not a dtype; accepted: FLOAT64 FLOAT32 "
             "FLOAT16 BFLOAT16 FP8 INT64 LONG INT32 INT16 INT8 UINT8 BOOL"},
        Case{"\"b\": [2, 3]", "\"bb\": [2, 3]",
             "net.json:8:16: \"input_shape\": no shape for input \"b\", found shapes for \"bb\", "
             "\"a\" (did you mean \"bb\"?)\n"
             "net.json:8:17: \"input_shape.bb\": not among the inputs (\"a\", \"b\") (did you mean "
             "\"b\"?)"},
        Case{
            "[2, 3]", "[2, 0]",
            "net.json:8:26: \"input_shape.b[1]\": found 0, accepted: a whole number of at least 1, "
            "or -1 where the dimension is free"},
        Case{
            "[2, 3]", "[2, \"x\"]",
            "net.json:8:26: \"input_shape.b[1]\": found text \"x\", accepted: a whole number of at "
            "least 1, or -1 where the dimension is free"},
        Case{"\"weights\": \"trained\"", "\"batch_axes\": {\"c\": 0, \"b\": 2}",
             "net.json:10:16: \"batch_axes.c\": not among the inputs (\"a\", \"b\") (did you mean "
             "\"a\"?)\n"
             "net.json:10:29: \"batch_axes.b\": found 2, but the shape is [2,3]; accepted: an axis "
             "of it, or null"},
        Case{"\"weights\": \"trained\"", "\"input_ranges\": {\"a\": [5, 1]}",
             "net.json:10:23: \"input_ranges.a\": found [5, 1], accepted: [lowest, highest]"},
        Case{"\"weights\": \"trained\"", "\"max_batch_size\": 0",
             "net.json:10:19: \"max_batch_size\": found 0, accepted: a whole number from 1 to "
             "1000000000"},
        Case{"\"weights\": \"trained\"",
             "\"layout\": \"NHWC\", \"preprocess\": {\"layout\": \"NCHW\"}",
             "net.json:10:44: \"preprocess.layout\": found \"NCHW\", but \"layout\" is \"NHWC\"; "
             "accepted: the same layout"}));

TEST(ModelInfo, RefusesALayoutThatTheShapeContradicts) {
  const std::string text =
      R"({"name": "n", "model_path": "p", "framework": "Onnx", "model_format": "onnx",
"inputs": "x", "input_shape": {"x": [1, 224, 224, 3]}, "input_type": "FLOAT32", "layout": "NCHW"})";
  EXPECT_EQ(error_of(text),
            "net.json:2:37: \"input_shape.x\": [1,224,224,3] is laid out NHWC, but \"layout\" is "
            "\"NCHW\"");
}

TEST(ModelInfo, TakesALayoutThatTheShapeAllows) {
  for (const char* shape :
       {"[1, 16, 4, 4]", "[1, 3, 224, 224]", "[1, 1, 28, 28]", "[1, 64, 100, 1]"}) {
    EXPECT_EQ(error_of(std::string(R"({"name": "n", "model_path": "p", "framework": "Onnx",
      "model_format": "onnx", "inputs": "x", "input_type": "FLOAT32", "layout": "NCHW",
      "input_shape": {"x": )") +
                       shape + "}}"),
              "");
  }
}

TEST(ModelInfo, TellsPublishedFilesOfTheOldForm) {
  const std::string text = R"({
"name": "speech-tf-fp16", "model_path": "model_zoo/speech/net",
"framework": "Tensorflow", "framework_version": "2.4.0", "model_format": "saved_model",
"model_precision": "FP32", "inputs": "input_ids:0,", "outputs": "y:0",
"input_shape": {"input_ids:0": [1, 8],}, "input_type": "FLOAT32", "dataset_name": "d",
"max_batch_size": 4,
})";
  const auto info = parse(text);
  ASSERT_THAT(info, IsOk());
  EXPECT_TRUE(info->published_old_form);
  EXPECT_EQ(info->model_path, "/zoo/speech/net");
  EXPECT_EQ(info->inputs, (std::vector<TensorSpec>{{"input_ids:0", DType::kFloat32, {1, 8}}}));
  EXPECT_THAT(info->warnings,
              ElementsAre("net.json:4:20: \"model_precision\": found \"FP32\", but the name "
                          "\"speech-tf-fp16\" says fp16",
                          "net.json:5:56: \"input_type\": found FLOAT32 for \"input_ids:0\", which "
                          "looks like token ids: whole numbers"));
}

TEST(ModelInfo, LoadsEveryModelOfTheZoo) {
  const fs::path zoo = fs::path(ASSAY_SOURCE_DIR) / "model_zoo";
  if (!fs::exists(zoo)) GTEST_SKIP() << "no model_zoo here";
  for (const auto& entry : fs::directory_iterator(zoo)) {
    if (entry.path().extension() != ".json") continue;
    const auto info = load_model_info(entry.path(), {zoo, "/none"});
    EXPECT_THAT(info, IsOk()) << entry.path();
    if (!info.ok()) continue;
    EXPECT_THAT(info->warnings, IsEmpty()) << entry.path();
  }
}

TEST(ModelInfo, RefusesAnEmptyFile) {
  EXPECT_EQ(error_of(""), "net.json:1:1: the file is empty, accepted: an object");
}

}  // namespace
}  // namespace assay::workload
