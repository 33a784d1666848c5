#include "conformance/suite.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/file.h"
#include "base/json_file.h"
#include "base/json_schema.h"
#include "base/testing.h"
#include "report/golden_testing.h"

namespace assay::conformance {
namespace {

using assay::testing::IsOk;
using assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

SuiteReport example() {
  SuiteReport report;
  report.hardware_type = "XPU";
  report.folder = "/backends/XPU";
  report.command = "assay check-backend XPU --quick";
  report.quick = true;
  const auto record = [&](const char* name, CheckResult result) {
    report.records.push_back({{name, "the contract of <it>"}, std::move(result), 1'500'000'000});
  };
  record("manifest", passed("An XPU"));
  record("identity", failed("said \"Y\" & <Z>\nand more", Json{{"figure", 1}}));
  record("async.full", not_supported("offers no submit"));
  record("close", skipped("interrupted"));
  return report;
}

TEST(Catalogue, NamesAreUniqueAndEveryCheckHasAContractAndAFunction) {
  std::set<std::string_view> names;
  for (const Check& check : all_checks()) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_FALSE(check.contract.empty()) << check.name;
    EXPECT_NE(check.run, nullptr) << check.name;
  }
}

TEST(ChosenChecks, AFamilyIsChosenByItsName) {
  const auto chosen = chosen_checks({"rank", "close"});
  ASSERT_THAT(chosen, IsOk());
  EXPECT_EQ(chosen->size(), 10U);
  EXPECT_EQ(chosen->front().name, "rank.0");
  EXPECT_EQ(chosen->back().name, "close");
}

TEST(ChosenChecks, ACheckIsItselfAndAFamilyOnlyWithADot) {
  EXPECT_EQ(chosen_checks({"compile"})->size(), 1U);
  EXPECT_EQ(chosen_checks({"compile."})->front().name, "compile.cancel");
}

TEST(ChosenChecks, AnUnknownNameIsRefusedWithTheNearest) {
  EXPECT_THAT(chosen_checks({"clsoe"}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("clsoe"), HasSubstr("did you mean \"close\""))));
}

TEST(SuiteReport, IsOkOnlyWhenNothingFailedAndNothingWasSkipped) {
  SuiteReport report = example();
  EXPECT_FALSE(report.ok());
  report.records.erase(report.records.begin() + 1);
  EXPECT_FALSE(report.ok());
  report.records.pop_back();
  EXPECT_TRUE(report.ok());
}

TEST(SuiteReport, TextSaysContractSeenAndCommand) {
  EXPECT_EQ(failures_text(example()),
            "\nFAILED identity\n"
            "  contract: the contract of <it>\n"
            "  seen:     said \"Y\" & <Z>\nand more\n"
            "  only that: assay check-backend XPU --quick --check identity\n");
  EXPECT_EQ(closing_line(example()),
            "XPU: 4 checks: 1 passed, 1 failed, 1 not supported, 1 skipped\n");
  EXPECT_EQ(table_line(example().records[1]),
            "identity              failed            1.5 s  said \"Y\" & <Z> ...\n");
  EXPECT_EQ(table_line(example().records[2]),
            "async.full            not supported     1.5 s  offers no submit\n");
}

TEST(SuiteReport, ALineThatRepeatsTheOneBeforeSaysSo) {
  const CheckRecord record = example().records[2];
  Table table;
  EXPECT_EQ(table.line(record), table_line(record));
  EXPECT_EQ(table.line(record), "async.full            not supported     1.5 s  as above\n");
  EXPECT_EQ(table.line(example().records[1]), table_line(example().records[1]));
  EXPECT_EQ(table.line(record), table_line(record));
}

TEST(SuiteReport, JsonIsTheGoldenOneAndKeepsItsSchema) {
  const std::filesystem::path root = ASSAY_SOURCE_DIR;
  const std::string text = to_json(example()).dump(2) + "\n";
  assay::testing::expect_golden("conformance-example.json", text);
  const auto schema = JsonSchema::compile(*read_file(root / "schemas" / "conformance.schema.json"));
  ASSERT_THAT(schema, IsOk());
  const auto file = JsonFile::parse(text, "report");
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(to_status(schema->check(*file)), IsOk());
}

TEST(SuiteReport, JunitEscapesWhatXmlDoesNotHold) {
  const std::string xml = junit_xml(example());
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\" skipped=\"2\""));
  EXPECT_THAT(xml,
              HasSubstr("<failure message=\"said &quot;Y&quot; &amp; &lt;Z&gt;&#10;and more\">"));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"not supported: offers no submit\"/>"));
  EXPECT_THAT(xml, HasSubstr("--check identity</failure>"));
}

}  // namespace
}  // namespace assay::conformance
