#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"
#include "workload/interact_profile.h"

namespace assay::workload {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

InteractProfile profile_of(std::string_view text) {
  const auto file = JsonFile::parse(text, "HW.json");
  EXPECT_THAT(file, IsOk());
  auto profile = parse_interact_profile(*file);
  EXPECT_THAT(profile, IsOk());
  return std::move(profile).value();
}

constexpr std::string_view kProfile = R"([
  {"name": "fuse", "dialog_type": "Yes/No Dialog", "type": "bool", "default": false},
  {"name": "level", "dialog_type": "Radiolist Dialog", "type": "int", "options": [1, 2, 3],
   "default": 1, "depends": "fuse"},
  {"name": "length", "dialog_type": "Input Dialog", "type": "int"},
])";

std::string write(const std::string& name, std::string_view text) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

// "name=value (source)" of each answer.
std::vector<std::string> described(const Answers& answers) {
  std::vector<std::string> texts;
  for (const Answer& answer : answers.given) {
    texts.push_back(answer.name + "=" + answer.value.dump() + " (" +
                    std::string(name_of(answer.source)) + ")");
  }
  return texts;
}

// Answers what it is told to, and notes what it was asked.
class ScriptedDialogs : public DialogProvider {
 public:
  explicit ScriptedDialogs(bool wants, std::deque<std::optional<JsonValue>> script = {})
      : wants_(wants), script_(std::move(script)) {}

  Result<bool> wants_to_configure(const std::string& /*backend*/) override { return wants_; }

  Result<std::optional<JsonValue>> ask(const Question& question,
                                       const std::string& complaint) override {
    asked.push_back(question.name + (complaint.empty() ? "" : ": " + complaint));
    if (script_.empty()) return cancelled("stopped");
    auto answer = script_.front();
    script_.pop_front();
    return answer;
  }

  std::vector<std::string> asked;

 private:
  bool wants_;
  std::deque<std::optional<JsonValue>> script_;
};

TEST(Answers, AreTheDefaultsWhenNobodyAnswers) {
  const auto answers = resolve_answers(profile_of(kProfile), {});
  ASSERT_THAT(answers, IsOk());
  EXPECT_THAT(described(*answers), ElementsAre("fuse=false (default)"));
  EXPECT_THAT(answers->skipped, ElementsAre("level"));
  EXPECT_THAT(answers->absent, ElementsAre("length"));
  EXPECT_EQ(interact_info(*answers).dump(), R"({"fuse":false})");
}

TEST(Answers, ComeFromSetThenFileThenDialogThenDefault) {
  AnswerRequest request;
  request.set_options = {"fuse=yes"};
  request.answers_file = write("answers.json", "{\"fuse\": false, \"level\": \"3\",}");
  ScriptedDialogs dialogs(true, {JsonValue(Json("512"))});
  request.dialogs = &dialogs;
  const auto answers = resolve_answers(profile_of(kProfile), request);
  ASSERT_THAT(answers, IsOk());
  EXPECT_THAT(described(*answers),
              ElementsAre("fuse=true (--set)", "level=3 (--answers)", "length=512 (dialog)"));
  EXPECT_THAT(dialogs.asked, ElementsAre("length"));
  EXPECT_EQ(to_json(*answers).dump(), R"({"given":[{"name":"fuse","value":true,"source":"--set"},)"
                                      R"({"name":"level","value":3,"source":"--answers"},)"
                                      R"({"name":"length","value":512,"source":"dialog"}],)"
                                      R"("absent":[],"skipped":[],"warnings":[]})");
}

TEST(Answers, AreAskedForUntilTheyArePossible) {
  ScriptedDialogs dialogs(
      true, {JsonValue(Json(true)), JsonValue(Json("7")), JsonValue(Json("2")), std::nullopt});
  AnswerRequest request;
  request.dialogs = &dialogs;
  const auto answers = resolve_answers(profile_of(kProfile), request);
  ASSERT_THAT(answers, IsOk());
  EXPECT_THAT(dialogs.asked,
              ElementsAre("fuse", "level", "level: found 7, accepted: 1, 2, 3", "length"));
  EXPECT_THAT(described(*answers), ElementsAre("fuse=true (dialog)", "level=2 (dialog)"));
  EXPECT_THAT(answers->absent, ElementsAre("length"));
}

TEST(Answers, AreTheDefaultsWhenThePersonDoesNotWantToConfigure) {
  ScriptedDialogs dialogs(false);
  AnswerRequest request;
  request.dialogs = &dialogs;
  const auto answers = resolve_answers(profile_of(kProfile), request);
  ASSERT_THAT(answers, IsOk());
  EXPECT_THAT(dialogs.asked, IsEmpty());
  EXPECT_THAT(described(*answers), ElementsAre("fuse=false (default)"));
}

TEST(Answers, EndWhenThePersonStops) {
  ScriptedDialogs dialogs(true);
  AnswerRequest request;
  request.dialogs = &dialogs;
  EXPECT_THAT(resolve_answers(profile_of(kProfile), request),
              StatusIs(StatusCode::kCancelled, "stopped"));
}

TEST(Answers, GivenForAQuestionThatWouldNotBeAskedAreKeptWithAWarning) {
  AnswerRequest request;
  request.set_options = {"level=2"};
  const auto answers = resolve_answers(profile_of(kProfile), request);
  ASSERT_THAT(answers, IsOk());
  EXPECT_THAT(described(*answers), ElementsAre("fuse=false (default)", "level=2 (--set)"));
  EXPECT_THAT(answers->warnings,
              ElementsAre("\"level\" is answered, though it depends on \"fuse\", "
                          "which is not answered yes"));
}

TEST(Answers, OfTwoSetOptionsTheLaterCounts) {
  AnswerRequest request;
  request.set_options = {"length=1", "length=2"};
  const auto answers = resolve_answers(profile_of(kProfile), request);
  ASSERT_THAT(answers, IsOk());
  EXPECT_THAT(described(*answers), ElementsAre("fuse=false (default)", "length=2 (--set)"));
}

TEST(Answers, ReportEveryUnknownNameAndImpossibleValueAtOnce) {
  AnswerRequest request;
  request.set_options = {"lenght=3", "fuse=perhaps", "level", "a=b=c"};
  request.answers_file = write("bad.json", "{\n\"fusing\": 1,\n\"level\": 4}");
  EXPECT_THAT(
      resolve_answers(profile_of(kProfile), request),
      StatusIs(StatusCode::kInvalidArgument,
               "--set: \"lenght\": not a question of HW.json (did you mean \"length\"?)\n"
               "--set: \"fuse\": found \"perhaps\", accepted: true or false\n"
               "--set: found \"level\", accepted: name=value\n"
               "--set: \"a\": not a question of HW.json, those are: \"fuse\", \"level\", "
               "\"length\"\n" +
                   request.answers_file.native() +
                   ":2:1: \"fusing\": not a question of HW.json, those are: \"fuse\", "
                   "\"level\", \"length\"\n" +
                   request.answers_file.native() + ":3:10: \"level\": found 4, accepted: 1, 2, 3"));
}

TEST(Answers, RefuseASetOptionForABackendThatAsksNothing) {
  AnswerRequest request;
  request.set_options = {"fuse=1"};
  EXPECT_THAT(resolve_answers(profile_of("[]"), request),
              StatusIs(StatusCode::kInvalidArgument, "--set: \"fuse\": HW.json asks nothing"));
}

TEST(Answers, RefuseAMissingOrBrokenFile) {
  AnswerRequest request;
  request.answers_file = ::testing::TempDir() + "/none.json";
  EXPECT_THAT(resolve_answers(profile_of(kProfile), request),
              StatusIs(StatusCode::kNotFound, ::testing::HasSubstr("none.json")));
  request.answers_file = write("list.json", "[1]");
  EXPECT_THAT(resolve_answers(profile_of(kProfile), request),
              StatusIs(StatusCode::kInvalidArgument,
                       request.answers_file.native() +
                           ":1:1: found a list, accepted: an object of answers by question name"));
}

TEST(SetOption, SplitsAtTheFirstEqualsSign) {
  EXPECT_EQ(*parse_set_option("a=b=c"), (std::pair<std::string, std::string>("a", "b=c")));
  EXPECT_EQ(*parse_set_option("a="), (std::pair<std::string, std::string>("a", "")));
  EXPECT_THAT(parse_set_option("=b"),
              StatusIs(StatusCode::kInvalidArgument, "found \"=b\", accepted: name=value"));
}

}  // namespace
}  // namespace assay::workload
