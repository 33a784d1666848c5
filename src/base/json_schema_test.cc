#include "base/json_schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"

namespace assay {
namespace {

using testing::IsOk;
using testing::StatusIs;

// Messages for `document` under `schema`, one a line.
std::string check(std::string_view schema, std::string_view document) {
  auto compiled = JsonSchema::compile(schema);
  EXPECT_THAT(compiled, IsOk());
  auto file = JsonFile::parse(document, "x.json");
  EXPECT_THAT(file, IsOk());
  return to_status(compiled->check(*file)).message();
}

constexpr std::string_view kSchema = R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "definitions": {"count": {"type": "integer", "minimum": 1}},
  "type": "object",
  "required": ["model"],
  "additionalProperties": false,
  "properties": {
    "model": {"type": "string", "minLength": 1},
    "clients": {"$ref": "#/definitions/count"},
    "percent": {"type": "number", "minimum": 1, "maximum": 100},
    "share": {"type": "number", "exclusiveMinimum": 0},
    "mode": {"enum": ["fast", "exact"]},
    "sizes": {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"$ref": "#/definitions/count"}},
    "shape": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
    "path": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["package"],
             "additionalProperties": false, "properties": {"package": {"type": "string"}}}]},
    "flag": {"type": ["boolean", "null"]},
    "word": {"type": "string", "pattern": "^[0-9a-f]+$", "x-accepted": "hexadecimal digits"}
  }
})";

TEST(JsonSchema, AcceptsWhatFits) {
  EXPECT_EQ(check(kSchema, R"({"model": "m", "clients": 3, "percent": 2.5, "mode": "fast",
      "sizes": [1, 4], "shape": {"a": [1, -1]}, "path": {"package": "p"}, "flag": null})"),
            "");
}

struct Case {
  const char* document;
  const char* message;
};

class SchemaMessage : public ::testing::TestWithParam<Case> {};

TEST_P(SchemaMessage, NamesPlaceKeyFoundAndAccepted) {
  EXPECT_EQ(check(kSchema, GetParam().document), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Table, SchemaMessage,
    ::testing::Values(
        Case{"{}", R"(x.json:1:1: "model": missing, accepted: text that is not empty)"},
        Case{"[]", "x.json:1:1: found an empty list, accepted: an object"},
        Case{R"({"model": ""})",
             R"(x.json:1:11: "model": found text "", accepted: text that is not empty)"},
        Case{R"({"model": "m", "client": 3})",
             R"(x.json:1:16: "client": unknown key (did you mean "clients"?))"},
        Case{
            R"({"model": "m", "zzz": 3})",
            R"(x.json:1:16: "zzz": unknown key, accepted: model, clients, percent, share, mode, sizes, shape, path, flag, word)"},
        Case{R"({"model": "m", "clients": "3"})",
             R"(x.json:1:27: "clients": found text "3", accepted: a whole number of at least 1)"},
        Case{R"({"model": "m", "clients": 1.5})",
             R"(x.json:1:27: "clients": found 1.5, accepted: a whole number of at least 1)"},
        Case{R"({"model": "m", "clients": 0})",
             R"(x.json:1:27: "clients": found 0, accepted: a whole number of at least 1)"},
        Case{R"({"model": "m", "percent": 101})",
             R"(x.json:1:27: "percent": found 101, accepted: a number from 1 to 100)"},
        Case{R"({"model": "m", "share": 0})",
             R"(x.json:1:25: "share": found 0, accepted: a number above 0)"},
        Case{
            R"({"model": "m", "mode": "fastt"})",
            R"(x.json:1:24: "mode": found text "fastt", accepted: "fast" or "exact" (did you mean "fast"?))"},
        Case{
            R"({"model": "m", "sizes": []})",
            R"(x.json:1:25: "sizes": found an empty list, accepted: a list that is not empty, each item a whole number of at least 1)"},
        Case{R"({"model": "m", "sizes": [4, 0, "x"]})",
             "x.json:1:29: \"sizes[1]\": found 0, accepted: a whole number of at least 1\n"
             "x.json:1:32: \"sizes[2]\": found text \"x\", accepted: a whole number of at least 1"},
        Case{R"({"model": "m", "sizes": [4, 4]})",
             R"(x.json:1:25: "sizes": found 4 twice, accepted: each item once)"},
        Case{R"({"model": "m", "shape": {"a:0": [1, "b"]}})",
             R"(x.json:1:37: "shape.a:0[1]": found text "b", accepted: a whole number)"},
        Case{R"({"model": "m", "path": 3})",
             R"(x.json:1:24: "path": found 3, accepted: text or an object)"},
        Case{R"({"model": "m", "path": {"packag": "p"}})",
             "x.json:1:24: \"path.package\": missing, accepted: text\n"
             "x.json:1:25: \"path.packag\": unknown key (did you mean \"package\"?)"},
        Case{R"({"model": "m", "flag": 1})",
             R"(x.json:1:24: "flag": found 1, accepted: true or false or null)"}));

TEST(JsonSchema, ExplainsAPatternInTheWordsOfTheSchema) {
  EXPECT_EQ(check(kSchema, R"({"model": "m", "word": "xyz"})"),
            R"(x.json:1:24: "word": found text "xyz", accepted: hexadecimal digits)");
}

TEST(JsonSchema, ReportsEveryProblemAtOnceInTheOrderOfTheText) {
  EXPECT_EQ(check(kSchema, "{\"clients\": 0,\n\"mod\": 1,\n\"flag\": 2}"),
            "x.json:1:1: \"model\": missing, accepted: text that is not empty\n"
            "x.json:1:13: \"clients\": found 0, accepted: a whole number of at least 1\n"
            "x.json:2:1: \"mod\": unknown key (did you mean \"mode\"?)\n"
            "x.json:3:9: \"flag\": found 2, accepted: true or false or null");
}

TEST(JsonSchema, RefusesASchemaThatIsNotOne) {
  EXPECT_THAT(JsonSchema::compile("{"), StatusIs(StatusCode::kInternal, ::testing::_));
}

}  // namespace
}  // namespace assay
