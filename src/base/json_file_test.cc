#include "base/json_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

std::string error_of(std::string_view text) {
  return JsonFile::parse(text, "x.json").status().message();
}

TEST(JsonFile, TakesCommentsTrailingCommasAndByteOrderMark) {
  const auto file = JsonFile::parse(
      "\xEF\xBB\xBF// head\n{\"a\": [1, 2,], /* , } */ \"b\": {\"c\": \"//no, "
      "comment,]\",},}\n//end",
      "x");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->value(), Json::parse(R"({"a": [1, 2], "b": {"c": "//no, comment,]"}})"));
}

TEST(JsonFile, KeepsTheOrderOfKeys) {
  const auto file = JsonFile::parse(R"({"z": 1, "a": 2})", "x");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->value().dump(), R"({"z":1,"a":2})");
}

TEST(JsonFile, KnowsLineAndColumnOfKeysAndValues) {
  const auto file =
      JsonFile::parse("{\n  \"a\": [true,\n    null],\n  \"b/c\":\n    \"x\"\n}", "x");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->value_position(""), (TextPosition{1, 1}));
  EXPECT_EQ(file->key_position("/a"), (TextPosition{2, 3}));
  EXPECT_EQ(file->value_position("/a"), (TextPosition{2, 8}));
  EXPECT_EQ(file->value_position("/a/0"), (TextPosition{2, 9}));
  EXPECT_EQ(file->value_position("/a/1"), (TextPosition{3, 5}));
  EXPECT_EQ(file->key_position("/b~1c"), (TextPosition{4, 3}));
  EXPECT_EQ(file->value_position("/b~1c"), (TextPosition{5, 5}));
}

TEST(JsonFile, PointsAtTheParentOfWhatIsMissing) {
  const auto file = JsonFile::parse("{\n \"a\": {}}", "x");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->value_position("/a/missing"), (TextPosition{2, 7}));
}

TEST(JsonFile, CountsColumnsInCharactersAfterMultiByteText) {
  const auto file = JsonFile::parse("\xEF\xBB\xBF{\"\xC3\xA9\xE2\x82\xAC\": 1}", "x");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->value_position("/\xC3\xA9\xE2\x82\xAC"), (TextPosition{1, 8}));
}

TEST(JsonFile, CountsLinesThatEndAsOnWindows) {
  const auto file = JsonFile::parse("{\r\n\"a\": 1}", "x");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->value_position("/a"), (TextPosition{2, 6}));
}

TEST(JsonFile, TellsAnEmptyFileFromNull) {
  for (const char* text : {"", " \n\t", "// only a comment", "\xEF\xBB\xBF"}) {
    const auto file = JsonFile::parse(text, "x");
    ASSERT_THAT(file, IsOk()) << text;
    EXPECT_TRUE(file->empty()) << text;
    EXPECT_TRUE(file->value().is_null()) << text;
  }
  const auto null = JsonFile::parse("null", "x");
  ASSERT_THAT(null, IsOk());
  EXPECT_FALSE(null->empty());
  EXPECT_TRUE(null->value().is_null());
}

TEST(JsonFile, ReportsEveryDuplicateKeyWithTheLineOfTheFirst) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": [2]},\n \"a\": 3}"),
            "x.json:2:16: \"b.c\": duplicate key, already given on line 2\n"
            "x.json:3:2: \"a\": duplicate key, already given on line 1");
}

TEST(JsonFile, ReportsDuplicatesFoundBeforeASyntaxErrorToo) {
  EXPECT_EQ(error_of("{\"a\": 1, \"a\": 2,\n]"),
            "x.json:1:10: \"a\": duplicate key, already given on line 1\n"
            "x.json:2:1: found ']', expected ',' or '}'");
}

struct BrokenCase {
  const char* text;
  const char* message;
};

class BrokenJson : public ::testing::TestWithParam<BrokenCase> {};

TEST_P(BrokenJson, SaysWhereWhatWasFoundAndWhatIsExpected) {
  EXPECT_EQ(error_of(GetParam().text), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BrokenJson,
    ::testing::Values(
        BrokenCase{"{\n\"a\": 1\n\"b\": 2}", "x.json:3:1: found \"b\", expected ',' or '}'"},
        BrokenCase{"{\"a\" 1}", "x.json:1:6: found 1, expected ':'"},
        BrokenCase{"{\"a\": }", "x.json:1:7: found '}', expected a value"},
        BrokenCase{"{a: 1}", "x.json:1:2: found a, expected a key in double quotes or '}'"},
        BrokenCase{"{'a': 1}", "x.json:1:2: found 'a', expected a key in double quotes or '}'"},
        BrokenCase{"[1 2]", "x.json:1:4: found 2, expected ',' or ']'"},
        BrokenCase{"[,]", "x.json:1:2: found ',', expected a value or ']'"},
        BrokenCase{"[1,,]", "x.json:1:4: found ',', expected a value"},
        BrokenCase{"[1}", "x.json:1:3: found '}', expected ',' or ']'"},
        BrokenCase{"{\"a\": [1", "x.json:1:9: found the end of the file, expected ',' or ']'"},
        BrokenCase{"}", "x.json:1:1: found '}', expected a value"},
        BrokenCase{"{} {}", "x.json:1:4: found '{', expected the end of the file"},
        BrokenCase{"{\"a\": 1},\n{\"b\": 1}]",
                   "x.json:1:9: found ',', expected the end of the file "
                   "(a list of several items starts with '[')"},
        BrokenCase{"{\"a\": tru}",
                   "x.json:1:7: found tru, expected a number, true, false, null or "
                   "text in double quotes"},
        BrokenCase{"{\"a\": True, \"b\" 1}",
                   "x.json:1:7: found True, expected a number, true, false, null or text in double "
                   "quotes"},
        BrokenCase{"[NaN]",
                   "x.json:1:2: found NaN, expected a number, true, false, null or text in "
                   "double quotes"},
        BrokenCase{"[01]",
                   "x.json:1:2: found 01, expected a number, true, false, null or text in "
                   "double quotes"},
        BrokenCase{"[1]  /* open", "x.json:1:6: found /* without */, expected the comment's end"},
        BrokenCase{"\xFF\xFE{", "x.json:1:1: the file is UTF-16, UTF-8 is expected"}));

TEST(JsonFile, SaysWhyTextInQuotesIsWrong) {
  EXPECT_THAT(error_of("{\"a\": \"no end\n}"), HasSubstr("x.json:1:7: found \"no end: "));
  EXPECT_THAT(error_of(R"(["\q"])"), HasSubstr("x.json:1:2: found \"\\q\": "));
  EXPECT_THAT(error_of("[\"\xC3\x28\"]"), HasSubstr("ill-formed UTF-8"));
}

TEST(JsonFile, RefusesANumberOutOfRange) {
  EXPECT_THAT(error_of("[1e999]"), HasSubstr("x.json:1:2: found 1e999: number overflow"));
}

TEST(JsonFile, RefusesMoreThan64Levels) {
  EXPECT_THAT(JsonFile::parse(std::string(64, '[') + std::string(64, ']'), "x"), IsOk());
  EXPECT_EQ(error_of(std::string(65, '[') + std::string(65, ']')),
            "x.json:1:65: more than 64 levels deep");
}

TEST(JsonFile, ReadsAPathWithSpacesAndNonAsciiLetters) {
  const std::string path = ::testing::TempDir() + "/\xC3\xA4 b.json";
  std::ofstream(path) << "{";
  EXPECT_THAT(
      JsonFile::read(path),
      StatusIs(StatusCode::kInvalidArgument,
               path + ":1:2: found the end of the file, expected a key in double quotes or '}'"));
  EXPECT_THAT(JsonFile::read(path + ".none"), StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

TEST(JsonFile, HasNoPositionsForAValueFromMemory) {
  const JsonFile file = JsonFile::from_value(Json{{"a", 1}}, "backend CPU");
  EXPECT_EQ(to_string(file.problem("/a", "wrong")), "backend CPU: \"a\": wrong");
}

TEST(Problem, IsSortedByPlaceWithinItsFile) {
  const Status status = to_status(
      {{"b", {2, 1}, "", "second"}, {"a", {1, 1}, "", "third"}, {"b", {1, 9}, "k", "first"}});
  EXPECT_EQ(status.message(), "b:1:9: \"k\": first\nb:2:1: second\na:1:1: third");
}

TEST(Problem, AreShownUpToFifty) {
  const Status status = to_status(std::vector<Problem>(52, Problem{"a", {1, 1}, "", "x"}));
  EXPECT_THAT(status.message(), HasSubstr("\nand 2 more problems"));
}

TEST(KeyPath, TellsAnIndexFromAKey) {
  const Json root = Json::parse(R"({"a": [{"0": 1}], "b/c": 2})");
  EXPECT_EQ(key_path("/a/0/0", root), "a[0].0");
  EXPECT_EQ(key_path("/b~1c", root), "b/c");
  EXPECT_EQ(key_path("", root), "");
  EXPECT_EQ(key_path("/none/x", root), "none.x");
}

TEST(JsonValue, CopiesDeeplyAndIsNullByDefault) {
  JsonValue a;
  EXPECT_TRUE(a.is_null());
  a.mutable_value()["k"] = 1;
  JsonValue b = a;
  b.mutable_value()["k"] = 2;
  EXPECT_EQ(a.dump(), R"({"k":1})");
  EXPECT_EQ(b.dump(), R"({"k":2})");
  const JsonValue c = std::move(a);
  EXPECT_EQ(c.dump(), R"({"k":1})");
}

}  // namespace
}  // namespace assay
