// What must become of each file of the published form in tests/data/guide.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"
#include "workload/compile_result.h"
#include "workload/interact_profile.h"
#include "workload/model_info.h"
#include "workload/workload.h"

namespace assay::workload {
namespace {

namespace fs = std::filesystem;
using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

fs::path guide(const char* name) {
  return fs::path(ASSAY_SOURCE_DIR) / "tests" / "data" / "guide" / name;
}

TEST(Guide, WorkloadsParseInBothSpellings) {
  const auto first = load_workload(guide("workload-1.json"));
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(first->batch_sizes, Optional(ElementsAre(1, 2, 32)));
  EXPECT_EQ(first->clients, 2);
  EXPECT_EQ(first->data_percent, 25);
  const auto second = load_workload(guide("workload-2.json"));
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(second->batch_sizes, Optional(ElementsAre(2, 4, 6)));
}

TEST(Guide, ModelInfosParseAndTheirContradictionsAreWarnings) {
  for (const char* name : {"model-info-1.json", "model-info-2.json"}) {
    const auto info = load_model_info(guide(name), {"/zoo", ""});
    ASSERT_THAT(info, IsOk()) << name;
    EXPECT_EQ(info->model_path, "/zoo/tagger/tagger_fp16");
    EXPECT_EQ(info->inputs, (std::vector<TensorSpec>{{"input_ids:0", DType::kFloat32, {1, 128}}}));
    EXPECT_TRUE(info->published_old_form);
    EXPECT_THAT(info->warnings, ElementsAre(HasSubstr("found \"FP32\", but the name"),
                                            HasSubstr("which looks like token ids")));
  }
}

TEST(Guide, FirstProfileAsksThreeQuestions) {
  const auto profile = load_interact_profile(guide("profile-1.json"));
  ASSERT_THAT(profile, IsOk());
  ASSERT_EQ(profile->questions.size(), 3U);
  EXPECT_EQ(profile->questions[0].note, "Vectorise\xEF\xBC\x9F");
  EXPECT_THAT(profile->questions[2].default_value, Optional(JsonValue(Json("2"))));
  EXPECT_THAT(profile->warnings, IsEmpty());
}

TEST(Guide, SecondProfileHasDefaultsOfTheirTypeAndWarnsOfUnknownDepends) {
  const auto profile = load_interact_profile(guide("profile-2.json"));
  ASSERT_THAT(profile, IsOk());
  ASSERT_EQ(profile->questions.size(), 3U);
  EXPECT_THAT(profile->questions[2].default_value, Optional(JsonValue(Json(6))));
  EXPECT_THAT(profile->warnings,
              ElementsAre(EndsWith(":7:12: \"[0].depends\": \"is_tagger\" is no question, so it "
                                   "counts as not answered"),
                          EndsWith(":23:13: \"[2].depends\": \"small_weights\" is no question, so "
                                   "it counts as not answered")));
  const auto answers = resolve_answers(*profile, {});
  ASSERT_THAT(answers, IsOk());
  EXPECT_EQ(interact_info(*answers), Json::object());
  EXPECT_THAT(answers->skipped, ElementsAre("longest_text", "weight_bits"));
  EXPECT_THAT(answers->absent, ElementsAre("reorder"));
}

TEST(Guide, ProfileWithoutItsBracketIsRefusedWithThePlace) {
  EXPECT_THAT(load_interact_profile(guide("profile-2-without-bracket.json")),
              StatusIs(StatusCode::kInvalidArgument,
                       guide("profile-2-without-bracket.json").native() +
                           ":7:2: found ',', expected the end of the file (a list of several items "
                           "starts with '[')"));
}

TEST(Guide, EmptyProfileAsksNothing) {
  const auto profile = load_interact_profile(guide("profile-empty.json"));
  ASSERT_THAT(profile, IsOk());
  EXPECT_THAT(profile->questions, IsEmpty());
}

TEST(Guide, AnswersAreTakenForTheSecondProfile) {
  const auto profile = load_interact_profile(guide("profile-2.json"));
  ASSERT_THAT(profile, IsOk());
  const auto answers = resolve_answers(*profile, {{}, guide("answers.json"), nullptr});
  ASSERT_THAT(answers, IsOk());
  EXPECT_EQ(interact_info(*answers).dump(),
            R"({"longest_text":256,"reorder":true,"weight_bits":8})");
}

TEST(Guide, CompileResultParsesAndItsCountsAreOnlyDeclared) {
  const auto file = JsonFile::read(guide("compile-result.json"));
  ASSERT_THAT(file, IsOk());
  const auto result = parse_compile_result(*file);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->compile_precision, "int12_mix");
  EXPECT_THAT(result->declared_device_count, Optional(64));
  EXPECT_THAT(result->warnings, IsEmpty());
  const auto object = object_for_batch(result->segments[0], 16, /*dynamic_batch=*/true);
  ASSERT_THAT(object, IsOk());
  EXPECT_EQ((*object)->object, "tagger.obj");
}

}  // namespace
}  // namespace assay::workload
