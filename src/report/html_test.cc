#include "report/html.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "report/golden_testing.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

using ::assay::testing::expect_golden;
using ::assay::testing::golden_result;

// Assets stay out of the golden pages: they are files of their own.
constexpr HtmlAssets kStandIns{"/* style */", "/* script */", "/* chart style */",
                               "/* chart script */", "licence"};

class GoldenPage : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, GoldenPage,
                         ::testing::Values("example", "hard", "crashed", "minimal", "simulated"));

TEST_P(GoldenPage, IsAsRecorded) {
  expect_golden(std::string("report-") + GetParam() + ".html",
                render_html(golden_result(GetParam()), kStandIns));
}

// The text of a page is long: only its beginning around a find is worth printing.
std::string around(const std::string& page, std::string_view text) {
  const std::size_t at = page.find(text);
  return at == std::string::npos ? "" : page.substr(at < 60 ? 0 : at - 60, 120);
}

TEST_P(GoldenPage, ShowsNoNumberThatIsNone) {
  const std::string page = render_html(golden_result(GetParam()), kStandIns);
  for (const char* text : {">null<", ">nan", ">inf<", "undefined", "-nan"}) {
    EXPECT_EQ(around(page, text), "");
  }
}

TEST_P(GoldenPage, ShowsNoJson) {
  const std::string page = render_html(golden_result(GetParam()), kStandIns);
  const std::string text = page.substr(0, page.find("<script"));
  for (const char* piece : {"{&quot;", "&quot;:&quot;", "&quot;:{", ":["})
    EXPECT_EQ(around(text, piece), "");
}

TEST(Page, ARowOfFewCallsIsNotPlainlyValid) {
  Json result = golden_result("example");
  result["performance"] = Json::array({result["performance"][0]});
  result["performance"][0]["samples"] = 64;
  EXPECT_NE(around(render_html(result, kStandIns), "badge good\">Valid<"), "");
  result["performance"][0]["samples"] = 2;
  const std::string page = render_html(result, kStandIns);
  EXPECT_NE(around(page, ">Valid, but 2 calls only<"), "");
  EXPECT_NE(around(page, "batch 1, 1 client, 2 calls only"), "");
  EXPECT_EQ(around(page, "badge good\">Valid<"), "");
  result["performance"][0]["samples"] = 1;
  EXPECT_NE(around(render_html(result, kStandIns), ">Valid, but 1 call only<"), "");
}

TEST(Page, StandsAlone) {
  const std::string page = render_html(golden_result("example"));
  EXPECT_NE(around(page, "var uPlot="), "");
  for (const char* reference : {"src=", "@import", "url(", "<link rel=\"stylesheet\""}) {
    EXPECT_EQ(around(page, reference), "");
  }
}

TEST(Page, OfAnEmptyRecordSaysSoAndDoesNotFail) {
  const std::string page = render_html(Json::object(), kStandIns);
  EXPECT_NE(around(page, "Not measured"), "");
  EXPECT_NE(around(page, "Not tested"), "");
}

TEST(Page, NamesCannotLeaveTheirPlace) {
  Json result = golden_result("example");
  const std::string evil = "</script><img src=x onerror=alert(1)>\"'`&";
  result["task"] = result["command"] = result["hardware_type"] = evil;
  result["numeric"][0]["output"] = evil;
  result["provenance"]["host"][evil] = evil;
  result["performance"][0]["scenario"] = evil;
  result["warnings"] = {evil};
  const std::string page = render_html(result, kStandIns);
  EXPECT_EQ(around(page, "<img"), "");
  EXPECT_EQ(around(page, "</script><"), "");
  EXPECT_NE(around(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&quot;&#39;`&amp;"), "");
}

TEST(Page, EverySectionIsExplainedInTheGuide) {
  const auto guide =
      read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "docs" / "guide" / "read-a-report.md");
  ASSERT_TRUE(guide.ok());
  const std::string page = render_html(golden_result("example"), kStandIns);
  constexpr std::string_view kHeading = "-title\">";
  int sections = 0;
  for (std::size_t at = page.find("<h2 "); at != std::string::npos; at = page.find("<h2 ", at)) {
    const std::size_t begin = page.find(kHeading, at) + kHeading.size();
    at = page.find('<', begin);
    const std::string title = page.substr(begin, at - begin);
    EXPECT_NE(guide->find("\n## " + title + "\n"), std::string::npos) << title;
    ++sections;
  }
  EXPECT_EQ(sections, 11);
}

TEST(EscapeHtml, ReplacesWhatIsNotText) {
  EXPECT_EQ(escape_html("a<b>&\"'\n\x01\x7f"), "a&lt;b&gt;&amp;&quot;&#39;   ");
  EXPECT_EQ(escape_html("\xff"), "\xef\xbf\xbd");
  EXPECT_EQ(escape_html("µ"), "µ");
}

TEST(Prose, KeepsNumbersWithTheirUnits) {
  EXPECT_EQ(prose("took 3 ms of 5 steps, 1 second, 7 %"),
            "took 3\u00a0ms of 5 steps, 1 second, 7\u00a0%");
}

TEST(JsonForScript, CannotEndTheElement) {
  const std::string text = json_for_script({{"</script><!--", "]]>&\u2028"}});
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(text.find("\u2028"), std::string::npos);
  EXPECT_EQ(Json::parse(text), Json({{"</script><!--", "]]>&\u2028"}}));
}

TEST(ChartData, StaysSmallWhateverTheResultHolds) {
  Json result = golden_result("example");
  Json row = result["performance"][0];
  row["latency_histogram"] = Json::array();
  row["latency_over_time"] = Json::array();
  for (int i = 0; i < 5000; ++i) {
    row["latency_histogram"].push_back({{"low_ns", i}, {"high_ns", i + 1}, {"count", 2}});
    row["latency_over_time"].push_back(
        {{"round", i / 2500}, {"at_ns", i}, {"count", 1}, {"mean_ns", i}, {"max_ns", i}});
  }
  result["performance"] = Json::array();
  for (int i = 0; i < 60; ++i) result["performance"].push_back(row);
  const Json data = chart_data(result);
  EXPECT_EQ(data["performance"].size(), 60U);
  EXPECT_FALSE(data["performance"][kMostCharted].contains("histogram"));
  EXPECT_LT(data.dump().size(), 1'000'000U);
}

TEST(ChartData, MergingKeepsEveryCall) {
  Json result = {{"performance", {{{"latency_histogram", Json::array()}}}}};
  for (int i = 0; i < 200; ++i) {
    result["performance"][0]["latency_histogram"].push_back(
        {{"low_ns", i}, {"high_ns", i + 1}, {"count", 3}});
  }
  const Json merged = chart_data(result)["performance"][0]["histogram"];
  std::uint64_t calls = 0;
  for (const Json& count : merged["counts"]) calls += count.get<std::uint64_t>();
  EXPECT_EQ(calls, 600U);
  EXPECT_LE(merged["counts"].size(), 96U);
  EXPECT_EQ(merged["edges"].size(), merged["counts"].size() + 1);
  EXPECT_EQ(merged["edges"].back(), 200);
}

TEST(ChartData, GapsBetweenBinsBecomeEmptyOnes) {
  const Json result = {{"performance",
                        {{{"latency_histogram",
                           {{{"low_ns", 1}, {"high_ns", 2}, {"count", 5}},
                            {{"low_ns", 4}, {"high_ns", 5}, {"count", 1}}}}}}}};
  const Json histogram = chart_data(result)["performance"][0]["histogram"];
  EXPECT_EQ(histogram["edges"], Json({1.0, 2.0, 4.0, 5.0}));
  EXPECT_EQ(histogram["counts"], Json({5, 0, 1}));
}

TEST(ChartData, CourseMergesWithinARoundOnly) {
  Json result = {{"performance", {{{"latency_over_time", Json::array()}}}}};
  Json& points = result["performance"][0]["latency_over_time"];
  for (int i = 0; i < 721; ++i) {
    points.push_back(
        {{"round", i < 361 ? 0 : 1}, {"at_ns", i}, {"count", 1}, {"mean_ns", i}, {"max_ns", i}});
  }
  const Json course = chart_data(result)["performance"][0]["time"];
  // Three to one: 361 points make 121, of which the last is alone; 360 make 120.
  EXPECT_EQ(course["mean_ns"].size(), 241U);
  EXPECT_EQ(course["mean_ns"][0], 1.0);
  EXPECT_EQ(course["max_ns"][0], 2.0);
  EXPECT_EQ(course["mean_ns"][120], 360.0);
  EXPECT_EQ(course["round"][121], 1.0);
}

}  // namespace
}  // namespace assay::report
