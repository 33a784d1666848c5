#include "report/json.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/testing.h"
#include "report/golden_testing.h"

namespace assay::report {
namespace {

using ::assay::testing::expect_golden;
using ::assay::testing::golden_result;
using ::assay::testing::golden_text;
using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text_of_result(const Json& value) {
  const auto text = serialise(value);
  EXPECT_THAT(text, IsOk());
  return text.ok() ? *text : "";
}

std::filesystem::path scratch(const std::string& name) {
  const auto path = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove(path);
  return path;
}

class GoldenResult : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, GoldenResult,
                         ::testing::Values("example", "hard", "crashed", "minimal", "simulated"));

TEST_P(GoldenResult, IsInCanonicalFormWithItsLegacyKeys) {
  Json result = golden_result(GetParam());
  add_legacy_keys(result);
  EXPECT_THAT(validate_result(result), IsOk());
  expect_golden(std::string("result-") + GetParam() + ".json", text_of_result(result));
}

TEST_P(GoldenResult, ReadsBackAsItWasWritten) {
  const auto path = scratch("result.json");
  const Json result = golden_result(GetParam());
  ASSERT_THAT(write_result(path, result), IsOk());
  const auto read = read_result(path);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, result);
}

TEST(Serialise, PutsWhatFitsOnOneLine) {
  EXPECT_EQ(text_of_result({{"a", {1, 2.5, nullptr}}, {"b", {{"c", "d"}}}}),
            "{\"a\": [1, 2.5, null], \"b\": {\"c\": \"d\"}}\n");
}

TEST(Serialise, FillsLinesOfNumbersUpToTheMargin) {
  Json value = Json::array();
  for (int i = 0; i < 60; ++i) value.push_back(1000);
  const std::string text = text_of_result(value);
  EXPECT_EQ(Json::parse(text), value);
  // 98 columns beside the indent hold 16 numbers of "1000, ".
  EXPECT_EQ(text.substr(0, text.find('\n', 2)),
            "[\n  1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, "
            "1000, 1000, 1000,");
}

TEST(Serialise, KeepsEveryBitOfANumber) {
  for (const double value : {0.1, 1e-320, 1.7976931348623157e308, 36670.147361111114, -0.0}) {
    const double read = Json::parse(text_of_result(value)).get<double>();
    EXPECT_EQ(read, value);
    EXPECT_EQ(std::signbit(read), std::signbit(value));
  }
}

TEST(Serialise, NumbersThatAreNotFiniteAreRefusedByKey) {
  for (const double value : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_THAT(serialise({{"rows", {{{"qps", value}}}}}),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("rows[0].qps"), HasSubstr("not finite"))));
  }
}

TEST(Serialise, TextThatIsNotUtf8IsRefusedByKey) {
  EXPECT_THAT(serialise({{"note", "\xff"}}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("note is not UTF-8")));
  EXPECT_THAT(serialise({{"\xff", 1}}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
}

TEST(FiniteOrNull, IsNullForNaNAndInfinity) {
  EXPECT_EQ(finite_or_null(1.5), Json(1.5));
  EXPECT_TRUE(finite_or_null(kNaN).is_null());
  EXPECT_TRUE(finite_or_null(kInfinity).is_null());
}

TEST(ValidateResult, NamesEveryProblemWithItsKey) {
  Json result = golden_result("example");
  result["verdict"] = "passed";
  result["phases"][0]["outcome"] = "fine";
  result["performance"][1]["batch_size"] = 0;
  result.erase("task");
  result["perfomance"] = 1;
  EXPECT_THAT(validate_result(result),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("verdict"), HasSubstr("phases[0].outcome"),
                             HasSubstr("performance[1].batch_size"), HasSubstr("\"task\""),
                             HasSubstr("did you mean \"Performance\"?"))));
}

TEST(ValidateResult, SeesNumbersThatAreNotFinite) {
  Json result = golden_result("example");
  result["accuracy"]["value"] = kNaN;
  EXPECT_THAT(validate_result(result),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("accuracy.value")));
}

TEST(WriteResult, LeavesTheOldFileWhenTheNewOneIsWrong) {
  const auto path = scratch("kept.json");
  ASSERT_THAT(write_file_atomic(path, "old"), IsOk());
  Json result = golden_result("example");
  result["performance"][0]["qps"] = kInfinity;
  EXPECT_THAT(write_result(path, result), StatusIs(StatusCode::kInvalidArgument, HasSubstr("qps")));
  EXPECT_EQ(*read_file(path), "old");
}

TEST(ReadResult, SaysWhatIsWrongWithAFile) {
  const auto path = scratch("wrong.json");
  EXPECT_THAT(read_result(path), StatusIs(StatusCode::kNotFound, HasSubstr("wrong.json")));
  ASSERT_THAT(write_file_atomic(path, "{\"qps\": NaN}"), IsOk());
  EXPECT_THAT(read_result(path), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no JSON")));
  ASSERT_THAT(write_file_atomic(path, "[]"), IsOk());
  EXPECT_THAT(read_result(path), StatusIs(StatusCode::kInvalidArgument, HasSubstr("an object")));
  Json newer = golden_result("minimal");
  newer["schema_version"] = kSchemaVersion + 1;
  ASSERT_THAT(write_file_atomic(path, newer.dump()), IsOk());
  EXPECT_THAT(read_result(path), StatusIs(StatusCode::kUnimplemented, HasSubstr("version 2")));
}

TEST(LegacyKeys, AreInTheUnitsOfTheirReaders) {
  Json result = golden_result("example");
  add_legacy_keys(result);
  EXPECT_EQ(result.begin().key(), "Model");
  EXPECT_EQ(result["Model"], "fashion-mnist-cnn-onnx-int8");
  EXPECT_EQ(result["Execution Date"], "2026-11-30 10:15:02");
  EXPECT_DOUBLE_EQ(result["Graph Compile"]["Compile Duration"].get<double>(), 0.30211844);
  EXPECT_EQ(result["Accuracy"]["Top-1"], 0.9253);
  EXPECT_EQ(result["Accuracy"]["Top-5"], 0.9983);
  const Json& typed = result["performance"][0]["latency_ns"];
  const Json& legacy = result["Performance"][0];
  EXPECT_EQ(legacy["BS"], 1);
  EXPECT_EQ(legacy["QPS"], result["performance"][0]["qps"]);
  EXPECT_DOUBLE_EQ(legacy["P99 Latency"].get<double>(), typed["p99"].get<double>() / 1e6);
}

TEST(LegacyKeys, HaveARowForEveryRowAndNullForWhatIsWithheld) {
  Json result = golden_result("hard");
  add_legacy_keys(result);
  ASSERT_EQ(result["Performance"].size(), 3U);
  EXPECT_TRUE(result["Performance"][1]["P99 Latency"].is_null());
  EXPECT_TRUE(result["Performance"][2]["QPS"].is_null());
}

TEST(LegacyKeys, PoolTheDifferencesOfAllOutputs) {
  Json result = golden_result("example");
  const auto output = [](int n, double mean, double deviation, double max, double mean_rel) {
    return Json{{"elements", n},        {"compared", n},         {"mean_abs", mean},
                {"std_abs", deviation}, {"max_abs", max},        {"max_rel", max},
                {"mean_rel", mean_rel}, {"relative_elements", n}};
  };
  // 1 value of 4, and 3 values of 0: mean 1, variance 16/4 - 1 = 3.
  result["numeric"] = Json::array({output(1, 4, 0, 4, 0.4), output(3, 0, 0, 0, 0)});
  add_legacy_keys(result);
  const Json& accuracy = result["Accuracy"];
  EXPECT_DOUBLE_EQ(accuracy["Mean Diff"].get<double>(), 1);
  EXPECT_DOUBLE_EQ(accuracy["Std Diff"].get<double>(), std::sqrt(3));
  EXPECT_DOUBLE_EQ(accuracy["Max Diff"].get<double>(), 4);
  EXPECT_DOUBLE_EQ(accuracy["Mean Rel-Diff"].get<double>(), 0.1);
}

TEST(LegacyKeys, OfARecordThatLacksEverythingAreNull) {
  Json result = Json::object();
  add_legacy_keys(result);
  EXPECT_TRUE(result["Host Info"].is_null());
  EXPECT_TRUE(result["Graph Compile"]["Compile Duration"].is_null());
  EXPECT_TRUE(result["Accuracy"]["Max Diff"].is_null());
  EXPECT_TRUE(result["Performance"].empty());
}

}  // namespace
}  // namespace assay::report
