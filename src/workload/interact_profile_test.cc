#include "workload/interact_profile.h"

#include <gtest/gtest.h>

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

Result<InteractProfile> parse(std::string_view text) {
  auto file = JsonFile::parse(text, "HW.json");
  if (!file.ok()) return file.status();
  return parse_interact_profile(*file);
}

std::string error_of(std::string_view text) { return parse(text).status().message(); }

TEST(InteractProfile, ReadsTheThreeKindsOfQuestion) {
  const auto profile = parse(R"([
    {"name": "fuse", "note": "Fuse layers?", "dialog_type": "Yes/No Dialog", "type": "bool",
     "default": false, "depends": null},
    {"name": "bits", "note": null, "dialog_type": "Radiolist Dialog", "type": "int",
     "options": ["12", 13], "default": "12", "depends": "fuse, other,"},
    {"name": "scale", "dialog_type": "Input Dialog", "type": "float", "default": "0.5"},
  ])");
  ASSERT_THAT(profile, IsOk());
  ASSERT_EQ(profile->questions.size(), 3U);
  const Question& fuse = profile->questions[0];
  EXPECT_EQ(fuse.dialog, DialogType::kYesNo);
  EXPECT_EQ(fuse.type, AnswerType::kBool);
  EXPECT_THAT(fuse.default_value, Optional(JsonValue(Json(false))));
  EXPECT_THAT(fuse.depends, IsEmpty());
  const Question& bits = profile->questions[1];
  EXPECT_EQ(bits.dialog, DialogType::kRadiolist);
  EXPECT_THAT(bits.options, ElementsAre(JsonValue(Json(12)), JsonValue(Json(13))));
  EXPECT_THAT(bits.default_value, Optional(JsonValue(Json(12))));
  EXPECT_THAT(bits.depends, ElementsAre("fuse", "other"));
  EXPECT_THAT(profile->questions[2].default_value, Optional(JsonValue(Json(0.5))));
  EXPECT_THAT(
      profile->warnings,
      ElementsAre("HW.json:5:57: \"[1].depends\": \"other\" is no question, so it counts as "
                  "not answered"));
}

TEST(InteractProfile, TakesTheUsualTypeOfTheDialogWhenNoneIsSaid) {
  const auto profile = parse(R"([{"name": "a", "dialog_type": "Yes/No Dialog"},
                                 {"name": "b", "dialog_type": "Input Dialog"}])");
  ASSERT_THAT(profile, IsOk());
  EXPECT_EQ(profile->questions[0].type, AnswerType::kBool);
  EXPECT_EQ(profile->questions[1].type, AnswerType::kString);
  EXPECT_EQ(profile->questions[0].default_value, std::nullopt);
}

TEST(InteractProfile, MeansNoQuestionsWhenEmpty) {
  for (const char* text : {"", "[]", "null", "// nothing"}) {
    const auto profile = parse(text);
    ASSERT_THAT(profile, IsOk()) << text;
    EXPECT_THAT(profile->questions, IsEmpty()) << text;
  }
  const std::string path = ::testing::TempDir() + "/empty.json";
  std::ofstream(path).flush();
  EXPECT_THAT(load_interact_profile(path), IsOk());
  EXPECT_THAT(load_interact_profile(path + ".absent"), IsOk());
}

struct Case {
  const char* text;
  const char* message;
};

class BadProfile : public ::testing::TestWithParam<Case> {};

TEST_P(BadProfile, IsRefused) { EXPECT_EQ(error_of(GetParam().text), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Table, BadProfile,
    ::testing::Values(
        Case{"{\"name\": \"a\"}",
             "HW.json:1:1: found an object, accepted: a list of questions, or null for none"},
        Case{
            "{\"name\": \"a\"},\n{\"name\": \"b\"}]",
            "HW.json:1:14: found ',', expected the end of the file (a list of several items starts "
            "with '[')"},
        Case{"[{\"name\": \"a\"}]",
             "HW.json:1:2: \"[0].dialog_type\": missing, accepted: \"Yes/No Dialog\", \"Radiolist "
             "Dialog\" or \"Input Dialog\""},
        Case{"[{\"name\": \"a\", \"dialog_type\": \"Radio Dialog\"}]",
             "HW.json:1:31: \"[0].dialog_type\": found text \"Radio Dialog\", accepted: \"Yes/No "
             "Dialog\", \"Radiolist Dialog\" or \"Input Dialog\" (did you mean \"Radiolist "
             "Dialog\"?)"},
        Case{"[{\"name\": \"a\", \"dialog_type\": \"Input Dialog\", \"defualt\": 1}]",
             "HW.json:1:47: \"[0].defualt\": unknown key (did you mean \"default\"?)"},
        Case{"[{\"name\": \"a\", \"dialog_type\": \"Radiolist Dialog\"}]",
             "HW.json:1:2: \"[0].options\": missing, accepted: a list of choices, since this is a "
             "Radiolist Dialog"},
        Case{"[{\"name\": \"a\", \"dialog_type\": \"Radiolist Dialog\", \"options\": [\"x\", "
             "\"y\"], \"default\": \"z\"}]",
             "HW.json:1:85: \"[0].default\": found \"z\", accepted: \"x\", \"y\""},
        Case{
            "[{\"name\": \"a\", \"dialog_type\": \"Input Dialog\", \"type\": \"int\", \"default\": "
            "\"12x\"}]",
            "HW.json:1:73: \"[0].default\": found \"12x\", accepted: a whole number"},
        Case{"[{\"name\": \"a\", \"dialog_type\": \"Input Dialog\"}, {\"name\": \"a\", "
             "\"dialog_type\": \"Input Dialog\"}]",
             "HW.json:1:57: \"[1].name\": found \"a\" twice, accepted: each name once"}));

TEST(ProfileFromBackend, TakesNullForNone) {
  const auto profile = interact_profile_from_backend(Json(), "NPU");
  ASSERT_THAT(profile, IsOk());
  EXPECT_THAT(profile->questions, IsEmpty());
}

TEST(ProfileFromBackend, TakesAnObjectOfQuestionsForTheirList) {
  const auto profile = interact_profile_from_backend(
      Json::parse(
          R"({"a": {"dialog_type": "Yes/No Dialog"}, "b": {"dialog_type": "Input Dialog"}})"),
      "NPU");
  ASSERT_THAT(profile, IsOk());
  ASSERT_EQ(profile->questions.size(), 2U);
  EXPECT_EQ(profile->questions[1].name, "b");
  EXPECT_THAT(profile->warnings, ElementsAre("backend NPU: the profile is an object of questions, "
                                             "taken for their list"));
}

TEST(ProfileFromBackend, TakesAnObjectWithoutQuestionsForNone) {
  const auto profile =
      interact_profile_from_backend(Json::parse(R"({"precision": "fp16"})"), "NPU");
  ASSERT_THAT(profile, IsOk());
  EXPECT_THAT(profile->questions, IsEmpty());
  EXPECT_THAT(profile->warnings, ElementsAre("backend NPU: the profile is an object without "
                                             "questions, taken for none"));
  const auto empty = interact_profile_from_backend(Json::object(), "NPU");
  ASSERT_THAT(empty, IsOk());
  EXPECT_THAT(empty->warnings, IsEmpty());
}

TEST(ProfileFromBackend, IgnoresUnknownKeysWithAWarning) {
  const auto profile = interact_profile_from_backend(
      Json::parse(R"([{"name": "a", "dialog_type": "Input Dialog", "help": "h"}])"), "NPU");
  ASSERT_THAT(profile, IsOk());
  EXPECT_EQ(profile->questions.size(), 1U);
  EXPECT_THAT(profile->warnings,
              ElementsAre("backend NPU: a question has the unknown key \"help\", ignored"));
}

TEST(ProfileFromBackend, SaysWhoseTheErrorIs) {
  EXPECT_THAT(interact_profile_from_backend(Json("text"), "NPU"),
              StatusIs(StatusCode::kInvalidArgument,
                       "backend NPU: found text \"text\", accepted: a list of questions, or null "
                       "for none"));
}

struct Coercion {
  AnswerType type;
  const char* given;
  const char* answer;  // "" when refused
};

class CoerceAnswer : public ::testing::TestWithParam<Coercion> {};

TEST_P(CoerceAnswer, TurnsTheValueIntoTheType) {
  Question question;
  question.type = GetParam().type;
  const auto answer = coerce_answer(question, Json::parse(GetParam().given));
  EXPECT_EQ(answer.ok() ? answer->dump() : "", GetParam().answer) << GetParam().given;
}

INSTANTIATE_TEST_SUITE_P(
    Table, CoerceAnswer,
    ::testing::Values(
        Coercion{AnswerType::kInt, "\"12\"", "12"}, Coercion{AnswerType::kInt, "\"-3\"", "-3"},
        Coercion{AnswerType::kInt, "12.0", "12"}, Coercion{AnswerType::kInt, "12.5", ""},
        Coercion{AnswerType::kInt, "1e300", ""}, Coercion{AnswerType::kInt, "\"\"", ""},
        Coercion{AnswerType::kInt, "\"12 \"", ""}, Coercion{AnswerType::kInt, "true", ""},
        Coercion{AnswerType::kFloat, "\"2.5\"", "2.5"}, Coercion{AnswerType::kFloat, "2", "2.0"},
        Coercion{AnswerType::kFloat, "\"nan\"", ""}, Coercion{AnswerType::kFloat, "\"inf\"", ""},
        Coercion{AnswerType::kBool, "\"Yes\"", "true"},
        Coercion{AnswerType::kBool, "\"false\"", "false"},
        Coercion{AnswerType::kBool, "0", "false"}, Coercion{AnswerType::kBool, "2", ""},
        Coercion{AnswerType::kBool, "\"maybe\"", ""}, Coercion{AnswerType::kString, "4", "\"4\""},
        Coercion{AnswerType::kString, "true", "\"true\""},
        Coercion{AnswerType::kString, "\"x\"", "\"x\""}, Coercion{AnswerType::kString, "null", ""},
        Coercion{AnswerType::kString, "[1]", ""}));

}  // namespace
}  // namespace assay::workload
