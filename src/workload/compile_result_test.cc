#include "workload/compile_result.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"

namespace assay::workload {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;

constexpr const char* kPlain = R"({
"model": "net", "framework": "Onnx", "compile_precision": "int16_mix", "optimizations": {"fuse": 2},
"instance_count": 1, "device_count": 128, "input_type": ["INT16"], "max_batch_size": 64,
"compile_status": "success", "sg_percent": 100, "vendor": {"own": [1]},
"segments": [{
"sg_idx": 0, "is_fallback": false,
"input_tensor_map": {"x": [-1, 3]}, "output_tensor_map": {"y": [-1, 10]},
"compiled_model": [{"compiled_bs": 1, "compiled_obj": "a.obj"}]
}]
})";

Result<CompileResult> parse(std::string_view text) {
  auto file = JsonFile::parse(text, "result");
  if (!file.ok()) return file.status();
  return parse_compile_result(*file);
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kPlain;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CompileResult, ReadsEveryKeyAndKeepsTheVendorsOwn) {
  const auto result = parse(kPlain);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->model, "net");
  EXPECT_EQ(result->framework, "Onnx");
  EXPECT_EQ(result->compile_precision, "int16_mix");
  EXPECT_THAT(result->declared_instance_count, Optional(1));
  EXPECT_THAT(result->declared_device_count, Optional(128));
  EXPECT_THAT(result->input_types, ElementsAre("INT16"));
  EXPECT_THAT(result->max_batch_size, Optional(64));
  EXPECT_TRUE(result->succeeded());
  EXPECT_EQ(result->sg_percent, 100);
  EXPECT_EQ(result->optimizations.dump(), R"({"fuse":2})");
  ASSERT_EQ(result->segments.size(), 1U);
  const Segment& segment = result->segments[0];
  EXPECT_FALSE(segment.is_fallback);
  EXPECT_THAT(segment.inputs, ElementsAre(Pair("x", Optional(Shape{-1, 3}))));
  EXPECT_THAT(segment.outputs, ElementsAre(Pair("y", Optional(Shape{-1, 10}))));
  EXPECT_EQ(segment.compiled[0].object, "a.obj");
  EXPECT_THAT(result->warnings, IsEmpty());
  EXPECT_EQ((*result->document)["vendor"].dump(), R"({"own":[1]})");
}

TEST(CompileResult, TakesTextForAListOrAMap) {
  const auto result = compile_result_from_backend(
      Json::parse(R"({"compile_precision": "FP16", "compile_status": "success", "sg_percent": 100,
        "input_type": "int64,float32", "optimizations": "fuse", "segments": [{"sg_idx": 0,
        "input_tensor_map": "a, b", "output_tensor_map": ["y"],
        "compiled_model": [{"compiled_bs": 4, "compiled_obj": {"file": "x"}}]}]})"),
      "NPU");
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->input_types, ElementsAre("INT64", "FLOAT32"));
  EXPECT_EQ(result->optimizations.dump(), R"({"fuse":true})");
  EXPECT_THAT(result->segments[0].inputs,
              ElementsAre(Pair("a", std::nullopt), Pair("b", std::nullopt)));
  EXPECT_THAT(result->segments[0].outputs, ElementsAre(Pair("y", std::nullopt)));
  EXPECT_EQ(result->segments[0].compiled[0].object, R"({"file":"x"})");
  EXPECT_EQ((*result->document)["segments"][0]["input_tensor_map"].dump(),
            R"({"a":null,"b":null})");
  EXPECT_THAT(
      result->warnings,
      ElementsAre(
          "compile result of backend NPU: \"input_type\": text, taken for a list",
          "compile result of backend NPU: \"optimizations\": not a map, taken for a map of "
          "names",
          "compile result of backend NPU: \"segments[0].input_tensor_map\": text, taken for "
          "a map of names"));
}

TEST(CompileResult, NeedsNoObjectOfAFailedCompilation) {
  EXPECT_THAT(parse(R"({"compile_precision": "FP32", "compile_status": "failed", "sg_percent": 0,
    "segments": [{"compiled_model": []}]})"),
              IsOk());
}

TEST(CompileResult, WarnsWhenThereAreNoSegments) {
  const auto result =
      parse(R"({"compile_precision": "FP32", "compile_status": "success", "sg_percent": 100})");
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->warnings, ElementsAre("result:1:1: \"segments\": none given: which object "
                                            "serves which batch size is not known"));
}

struct Case {
  const char* from;
  const char* to;
  const char* message;
};

class BadCompileResult : public ::testing::TestWithParam<Case> {};

TEST_P(BadCompileResult, IsRefused) {
  EXPECT_EQ(parse(changed(GetParam().from, GetParam().to)).status().message(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadCompileResult,
    ::testing::Values(
        Case{"\"compiled_obj\": \"a.obj\"", "\"compiled_obj\": null",
             "result:8:55: \"segments[0].compiled_model[0].compiled_obj\": missing, but "
             "compile_status is \"success\"; accepted: the object's path or name"},
        Case{"[{\"compiled_bs\": 1, \"compiled_obj\": \"a.obj\"}]", "[]",
             "result:8:19: \"segments[0].compiled_model\": no object, but compile_status is "
             "\"success\"; accepted: an object for each batch size"},
        Case{"\"is_fallback\": false", "\"is_fallback\": true",
             "result:4:44: \"sg_percent\": found 100, but segment 0 is a fallback segment; "
             "accepted: "
             "below 100"},
        Case{"\"sg_percent\": 100", "\"sg_percent\": 101",
             "result:4:44: \"sg_percent\": found 101, accepted: a number from 0 to 100"},
        Case{"\"compiled_bs\": 1", "\"compiled_bs\": 0",
             "result:8:36: \"segments[0].compiled_model[0].compiled_bs\": found 0, accepted: a "
             "whole "
             "number of at least 1"},
        Case{"[{\"compiled_bs\": 1, \"compiled_obj\": \"a.obj\"}]",
             "[{\"compiled_bs\": 1, \"compiled_obj\": \"a\"}, {\"compiled_bs\": 1, "
             "\"compiled_obj\": "
             "\"b\"}]",
             "result:8:77: \"segments[0].compiled_model[1].compiled_bs\": found 1 twice, accepted: "
             "each batch size once"},
        Case{"\"compile_status\": \"success\", ", "",
             "result:1:1: \"compile_status\": missing, accepted: text that is not empty"}));

TEST(CompileResult, RefusesNothingAtAll) {
  EXPECT_THAT(compile_result_from_backend(Json(), "NPU"),
              StatusIs(StatusCode::kInvalidArgument,
                       "compile result of backend NPU: found null, accepted: an object"));
}

Segment segment_of(std::vector<std::int64_t> batch_sizes) {
  Segment segment;
  for (const std::int64_t size : batch_sizes) segment.compiled.push_back({size, "o"});
  return segment;
}

TEST(ObjectForBatch, IsTheOneCompiledForIt) {
  const Segment segment = segment_of({1, 8});
  const auto object = object_for_batch(segment, 8, false);
  ASSERT_THAT(object, IsOk());
  EXPECT_EQ(*object, &segment.compiled[1]);
}

TEST(ObjectForBatch, OfADynamicModelServesEveryBatchWhenThereIsOneOnly) {
  const Segment one = segment_of({1});
  EXPECT_THAT(object_for_batch(one, 64, true), IsOk());
  EXPECT_THAT(object_for_batch(one, 64, false),
              StatusIs(StatusCode::kNotFound,
                       "segment 0 has no object for batch size 64, compiled are: 1 (the model's "
                       "batch is fixed)"));
  const Segment two = segment_of({1, 8});
  EXPECT_THAT(object_for_batch(two, 64, true),
              StatusIs(StatusCode::kNotFound,
                       "segment 0 has no object for batch size 64, compiled are: 1, 8"));
}

TEST(CheckObjectsExist, NamesWhatIsNotThere) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "objects";
  std::filesystem::create_directories(folder);
  const auto result = parse(kPlain);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(check_objects_exist(*result, folder),
              StatusIs(StatusCode::kNotFound, "compile says success, but \"a.obj\" is not in \"" +
                                                  folder.native() + "\""));
  std::ofstream(folder / "a.obj") << "x";
  EXPECT_THAT(check_objects_exist(*result, folder), IsOk());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace assay::workload
