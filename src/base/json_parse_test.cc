#include "base/json_parse.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/testing.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(ParseJson, GivesTheValue) {
  const Result<Json> value = parse_json(R"({"a": [1, "[[{"]})");
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(value->dump(), R"({"a":[1,"[[{"]})");
}

TEST(ParseJson, WhatIsNoneIsRefused) {
  EXPECT_THAT(parse_json("{\"never\": [").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no JSON")));
  EXPECT_THAT(parse_json("").status(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("JSON")));
  EXPECT_THAT(parse_json("\"\xC3\xFF\"").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no JSON")));
}

TEST(ParseJson, DepthIsBounded) {
  EXPECT_THAT(parse_json(nested(kMaxJsonDepth)), IsOk());
  EXPECT_THAT(parse_json(nested(kMaxJsonDepth + 1)).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nests deeper than 200")));
  // Never closed, and deep enough to end a process that looks into it.
  EXPECT_THAT(parse_json(std::string(1'000'000, '[')).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nests deeper than 200")));
}

TEST(ParseJson, BracketsInTextAreNoLevels) {
  std::string text(1000, '[');
  EXPECT_THAT(parse_json("[\"" + text + "\\\"" + text + "\"]"), IsOk());
}

}  // namespace
}  // namespace assay
