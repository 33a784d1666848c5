#include "host/document.h"

#include <gtest/gtest.h>

#include <string>

#include "assay/backend.hpp"
#include "base/testing.h"

namespace assay::host {
namespace {

using assay::testing::StatusIs;
using ::testing::HasSubstr;

constexpr const char* kConfigs = R"({
  "model_info": {"model": "m \"q\"", "input_shape": {"x": [1, 3]}, "scale": 0.1, "none": null},
  "interact_info": {"omp": true, "threads": 12, "mode": "fast"}})";

// The text as the C++ side of the boundary sees it.
backend::Document read(const char* json) {
  const auto document = BoundaryDocument::parse(json).value();
  return backend::Document(document.get());
}

TEST(Document, LeavesAreFoundByDottedNames) {
  const backend::Document document = read(kConfigs);
  EXPECT_EQ(document.text("model_info.model"), "m \"q\"");
  EXPECT_EQ(document.integer("model_info.input_shape.x.1"), 3);
  EXPECT_EQ(document.number("model_info.scale", 0), 0.1);
  EXPECT_EQ(document.integer("interact_info.threads", 1), 12);
  EXPECT_TRUE(document.flag("interact_info.omp", false));
}

TEST(Document, WholeTextCrossesAsItWas) { EXPECT_EQ(read(kConfigs).json(), kConfigs); }

TEST(Document, AbsentAndNullLeavesTakeTheFallback) {
  const backend::Document document = read(kConfigs);
  EXPECT_FALSE(document.has("model_info.none"));
  EXPECT_EQ(document.text("model_info.none", "f"), "f");
  EXPECT_EQ(document.integer("interact_info.missing", 7), 7);
  EXPECT_FALSE(document.flag("missing", false));
}

TEST(Document, AbsentLeafWithoutFallbackThrowsItsName) {
  try {
    (void)read(kConfigs).text("model_info.model_path");
    FAIL() << "did not throw";
  } catch (const backend::Error& e) {
    EXPECT_EQ(e.code(), ASSAY_INVALID_ARGUMENT);
    EXPECT_THAT(e.what(), HasSubstr("model_info.model_path"));
  }
}

TEST(Document, LeafOfAnotherTypeThrowsInsteadOfReadingZero) {
  const backend::Document document = read(kConfigs);
  EXPECT_THROW((void)document.integer("interact_info.mode", 1), backend::Error);
  EXPECT_THROW((void)document.flag("interact_info.threads", true), backend::Error);
  EXPECT_THROW((void)document.number("interact_info.mode", 1), backend::Error);
}

TEST(Document, EmptyTextIsAnEmptyObject) { EXPECT_EQ(read("").json(), "{}"); }

TEST(Document, BrokenTextIsRefused) {
  EXPECT_THAT(BoundaryDocument::parse("{"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("JSON")));
}

TEST(CompileResult, IsJsonWhateverTheNames) {
  backend::CompileResult result;
  result.model = "a \"quoted\"\n\\ name";
  result.compile_precision = "FP32";
  result.input_type = {"FLOAT32", "INT64"};
  result.max_batch_size = 8;
  result.objects = {{1, "one.bin"}, {8, "eight.bin"}};
  const backend::Document document = read(result.to_json().c_str());
  EXPECT_EQ(document.text("model"), result.model);
  EXPECT_EQ(document.text("input_type.1"), "INT64");
  EXPECT_EQ(document.integer("max_batch_size"), 8);
  EXPECT_EQ(document.integer("segments.0.compiled_model.1.compiled_bs"), 8);
  EXPECT_EQ(document.text("segments.0.compiled_model.1.compiled_obj"), "eight.bin");
  EXPECT_EQ(document.text("compile_status"), "success");
}

}  // namespace
}  // namespace assay::host
