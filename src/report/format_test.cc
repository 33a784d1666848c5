#include "report/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace assay::report {
namespace {

TEST(FormatCount, GroupsByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(-1234), "-1,234");
}

TEST(FormatNumber, KeepsSignificantDigitsAndDropsZeros) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(1.84170437), "1.842");
  EXPECT_EQ(format_number(30291.24), "30,291");
  EXPECT_EQ(format_number(999.96), "1,000");
  EXPECT_EQ(format_number(0.5), "0.5");
  EXPECT_EQ(format_number(-0.00131), "-0.00131");
  EXPECT_EQ(format_number(1.25e-7), "1.25e-07");
}

TEST(FormatNumber, HasNoTextForWhatIsNotFinite) {
  EXPECT_EQ(format_number(std::nan("")), kMissing);
  EXPECT_EQ(format_number(INFINITY), kMissing);
}

TEST(FormatDuration, TakesTheLargestUnitThatHoldsOne) {
  EXPECT_EQ(format_duration_ns(0), "0 ns");
  EXPECT_EQ(format_duration_ns(41), "41 ns");
  EXPECT_EQ(format_duration_ns(999.6), "999.6 ns");
  EXPECT_EQ(format_duration_ns(999.96), "1.000 µs");
  EXPECT_EQ(format_duration_ns(1'030'000), "1.030 ms");
  EXPECT_EQ(format_duration_ns(66'912'004'331), "66.91 s");
}

TEST(FormatBytes, UsesPowersOf1024) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(112'640), "110 KiB");
  EXPECT_EQ(format_bytes(92'274'688), "88 MiB");
  EXPECT_EQ(format_bytes(33'654'284'288), "31.3 GiB");
}

TEST(FormatPercent, TakesFractions) {
  EXPECT_EQ(format_percent(0.9253), "92.53 %");
  EXPECT_EQ(format_percent(1), "100.00 %");
}

TEST(Members, WhatIsAbsentNullOrOfAnotherTypeIsMissing) {
  const Json object = {{"null", nullptr}, {"text", "x"}, {"number", 3}};
  EXPECT_EQ(number_at(object, "absent"), std::nullopt);
  EXPECT_EQ(number_at(object, "null"), std::nullopt);
  EXPECT_EQ(number_at(object, "text"), std::nullopt);
  EXPECT_EQ(number_at(object, "number"), 3.0);
  EXPECT_EQ(number_at(Json(7), "number"), std::nullopt);
  EXPECT_EQ(string_at(object, "number"), "");
  EXPECT_TRUE(list_at(object, "text").empty());
  EXPECT_EQ(duration_or_missing(object, "null"), kMissing);
}

TEST(WithSeparators, GroupsCountsAndNothingElse) {
  EXPECT_EQ(with_separators("9253 right of 10000, of 1234567."),
            "9,253 right of 10,000, of 1,234,567.");
  EXPECT_EQ(with_separators("999 of 999"), "999 of 999");
  EXPECT_EQ(with_separators("10000"), "10,000");
  for (const char* text : {"0.123456", "1.5e-100000", "x12345", "12345x", "4e6e25d477",
                           "20261130-1654", "img-00042", "10,000", "12345.678", ""}) {
    EXPECT_EQ(with_separators(text), text);
  }
}

TEST(FewCalls, AreFewerThanTheFloorOfP90AndAreNamed) {
  EXPECT_TRUE(has_few_calls({{"samples", 63}}));
  EXPECT_FALSE(has_few_calls({{"samples", 64}}));
  EXPECT_FALSE(has_few_calls(Json::object()));
  EXPECT_EQ(calls_text({{"samples", 1}}), "1 call");
  EXPECT_EQ(calls_text({{"samples", 7200}}), "7,200 calls");
}

TEST(TextOf, JoinsListsAndObjectsOfScalars) {
  EXPECT_EQ(text_of(Json({1, "a", true})), "1, a, yes");
  EXPECT_EQ(text_of(Json::array()), kMissing);
  EXPECT_EQ(text_of(Json{{"a", 1}, {"b", "x"}}), "a: 1, b: x");
  EXPECT_EQ(text_of(Json{{"a", {1}}}), "a: [1]");
  EXPECT_EQ(text_of(Json{{"crop", {{"mode", "center"}, {"size", {224, 224}}}}, {"scale", 255}}),
            "crop: (mode: center, size: [224, 224]), scale: 255");
}

TEST(Metrics, HaveTheirPublishedNamesAndUnits) {
  EXPECT_EQ(metric_name("top1"), "Top-1");
  EXPECT_EQ(metric_name("something_new"), "something_new");
  EXPECT_EQ(format_metric("top1", 0.5), "50.00 %");
  EXPECT_EQ(format_metric("auc", 0.906), "0.906");
  EXPECT_EQ(format_metric("top1", std::nullopt), kMissing);
}

}  // namespace
}  // namespace assay::report
