#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/testing.h"
#include "check/answer_span.h"
#include "check/answer_text.h"

namespace assay::check {
namespace {

using ::assay::testing::IsOk;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

AnswerScore score_of(std::string_view predicted, const std::vector<std::string>& truths) {
  const Result<AnswerScore> score = score_answer(predicted, truths);
  EXPECT_THAT(score, IsOk());
  return score.ok() ? *score : AnswerScore{};
}

TEST(NormalizeAnswer, LowersAndDropsPunctuationArticlesAndSpareSpace) {
  const std::pair<const char*, const char*> cases[] = {
      {"The  Quick, brown\tfox.", "quick brown fox"},
      {"an apple a day", "apple day"},
      {"theatre another Than", "theatre another than"},
      {"U.S.A.", "usa"},
      {"well-known (the one)", "wellknown one"},
      {"the", ""},
      {"", ""},
      {"$1,000.50", "100050"},
  };
  for (const auto& [text, normal] : cases) EXPECT_EQ(normalize_answer(text).value(), normal);
}

// Punctuation outside ASCII stays, so that it separates an article from a word and keeps its place.
TEST(NormalizeAnswer, TakesUnicodeAsThePublishedDefinitionDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"ÉCOLE Ångström", "école ångström"},
      {"the—end", "—end"},
      {"\u201Cthe end\u201D", "\u201C end\u201D"},
      {"a\u00A0b\u3000c\u2003d", "b c d"},
      {"ΟΔΟΣ", "οδος"},
      {"ΣΑ", "σα"},
      {"İzmir", "i\u0307zmir"},
      {"東京 Tower", "東京 tower"},
      {"\U00010400", "\U00010428"},
      {"éa the", "éa"},
  };
  for (const auto& [text, normal] : cases) EXPECT_EQ(normalize_answer(text).value(), normal);
}

TEST(ScoreAnswer, IsExactWhenOneTrueAnswerIsEqualOnceNormalised) {
  EXPECT_TRUE(score_of("The Eiffel tower!", {"Paris", "eiffel Tower"}).exact);
  EXPECT_FALSE(score_of("Eiffel", {"Paris", "eiffel Tower"}).exact);
  EXPECT_TRUE(score_of("", {"the"}).exact);
}

TEST(ScoreAnswer, F1IsTheBestOverTheTrueAnswers) {
  // Two of three words and two of four: precision 2/3, recall 1/2.
  EXPECT_DOUBLE_EQ(score_of("in red boats", {"nothing", "two red big boats"}).f1, 4.0 / 7.0);
  // A word that is said twice counts as often as both say it.
  EXPECT_DOUBLE_EQ(score_of("b b b", {"b b c"}).f1, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(score_of("x", {"x y", "x"}).f1, 1.0);
}

TEST(ScoreAnswer, NothingInCommonIsZeroAndSoIsTheEmptyAnswer) {
  EXPECT_DOUBLE_EQ(score_of("north", {"south"}).f1, 0.0);
  EXPECT_DOUBLE_EQ(score_of("", {"south"}).f1, 0.0);
  EXPECT_DOUBLE_EQ(score_of("", {"the"}).f1, 0.0);
  EXPECT_DOUBLE_EQ(score_of("north", {}).f1, 0.0);
}

// tests/data/squad/generate.py says whose these are.
TEST(ScoreAnswer, EqualsAnIndependentImplementation) {
  const auto path = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/squad/golden.json";
  const auto golden = Json::parse(read_file(path).value());
  for (const Json& row : golden.at("normalized")) {
    EXPECT_EQ(normalize_answer(row[0].get<std::string>()).value(), row[1].get<std::string>());
  }
  ASSERT_GE(golden.at("scores").size(), 100U);
  for (const Json& row : golden.at("scores")) {
    const AnswerScore score = score_of(row[1].get<std::string>(), {row[0].get<std::string>()});
    EXPECT_EQ(score.exact, row[2] == 1) << row;
    EXPECT_NEAR(score.f1, row[3].get<double>(), 1e-12) << row;
  }
}

TEST(BestSpan, IsTheLargestSumWhoseEndIsNotBeforeItsStart) {
  const std::vector<double> start = {9, 1, 2, 5, 0};
  const std::vector<double> end = {9, 4, 7, 1, 0};
  const auto span = best_span(start, end, {1, 4}, {});
  ASSERT_TRUE(span);
  EXPECT_EQ(span->first, 2U);  // 2 + 7; 5 + 7 would end before it starts, 0 is no context
  EXPECT_EQ(span->last, 2U);
  EXPECT_DOUBLE_EQ(span->score, 9.0);
}

TEST(BestSpan, IsNotLongerThanTheLongestAnswer) {
  const std::vector<double> start = {5, 0, 0, 0};
  const std::vector<double> end = {0, 1, 0, 8};
  EXPECT_EQ(best_span(start, end, {0, 4}, {20, 4})->last, 3U);
  EXPECT_EQ(best_span(start, end, {0, 4}, {20, 3})->first, 1U);  // 0 + 8 beats 5 + 1
}

TEST(BestSpan, OnlyTheBestStartsAndEndsOfTheContextAreCandidates) {
  const std::vector<double> start = {99, 0, 1, 6, 2};
  const std::vector<double> end = {99, 8, 7, 0, 0};
  EXPECT_EQ(best_span(start, end, {1, 4}, {1, 30}), std::nullopt);  // start 3 and end 1
  EXPECT_EQ(best_span(start, end, {1, 4}, {3, 30})->score, 8.0);    // 1 + 7, at 2
  EXPECT_EQ(best_span(start, end, {1, 4}, {0, 30}), std::nullopt);
  EXPECT_EQ(best_span(start, end, {1, 0}, {}), std::nullopt);
}

TEST(BestSpan, OfEqualSumsTheFirstStartsWin) {
  const std::vector<double> same = {1, 1, 1};
  const auto span = best_span(same, same, {0, 3}, {});
  EXPECT_EQ(span->first, 0U);
  EXPECT_EQ(span->last, 0U);
}

TEST(BestSpan, NanIsNeverAnAnswer) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(best_span(std::vector{kNan, kNan}, std::vector{1.0, 1.0}, {0, 2}, {}), std::nullopt);
  EXPECT_EQ(best_span(std::vector{kInf}, std::vector{-kInf}, {0, 1}, {}), std::nullopt);
  const auto span = best_span(std::vector{kNan, 0.0}, std::vector{5.0, 1.0}, {0, 2}, {});
  EXPECT_EQ(span->first, 1U);
}

}  // namespace
}  // namespace assay::check
