#include "report/console.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/ansi.h"
#include "report/golden_testing.h"

namespace assay::report {
namespace {

using ::assay::testing::expect_golden;
using ::assay::testing::golden_result;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSecond = 1'000'000'000;

// A console on a clock that the test turns.
class Console {
 public:
  explicit Console(ConsoleStyle style)
      : progress_([this](std::string_view text) { text_ += text; }, style,
                  [this] { return now_; }) {}

  ProgressConsole* operator->() { return &progress_; }
  void pass(double seconds) { now_ += static_cast<std::int64_t>(seconds * kSecond); }
  std::string take() { return std::exchange(text_, ""); }

 private:
  std::string text_;
  std::int64_t now_ = 5 * kSecond;
  ProgressConsole progress_;
};

ConsoleStyle terminal(int columns = 100) {
  return {.live = true, .color = false, .columns = columns};
}

// What a terminal shows of its last line.
std::string shown(const std::string& text) {
  const std::size_t begin = text.rfind('\r');
  const std::string line = text.substr(begin == std::string::npos ? 0 : begin + 1);
  return line.substr(0, line.find('\x1b'));
}

TEST(ConsoleStyle, IsPlainOffATerminal) {
  const ConsoleStyle style = console_style({.is_terminal = false, .term = "xterm"});
  EXPECT_FALSE(style.live);
  EXPECT_FALSE(style.color);
  EXPECT_EQ(style.columns, 100);
}

TEST(ConsoleStyle, HonoursDumbTerminalsAndNoColor) {
  EXPECT_TRUE(console_style({.is_terminal = true, .term = "xterm"}).color);
  EXPECT_FALSE(console_style({.is_terminal = true, .term = "dumb"}).live);
  EXPECT_FALSE(console_style({.is_terminal = true}).live);
  const ConsoleStyle quiet = console_style({.is_terminal = true, .term = "xterm", .no_color = "1"});
  EXPECT_TRUE(quiet.live);
  EXPECT_FALSE(quiet.color);
  EXPECT_TRUE(console_style({.is_terminal = true, .term = "xterm", .no_color = ""}).color);
}

TEST(ConsoleStyle, TakesTheWidthOfTheTerminalThenOfTheEnvironment) {
  EXPECT_EQ(console_style({.is_terminal = true, .terminal_columns = 57, .columns = "90"}).columns,
            57);
  EXPECT_EQ(console_style({.is_terminal = false, .columns = "90"}).columns, 90);
  EXPECT_EQ(console_style({.is_terminal = false, .columns = "wide"}).columns, 100);
}

TEST(Progress, OffATerminalIsALineForEachPhase) {
  Console console({});
  console->begin("compile");
  console.pass(1.25);
  console->update(1);
  console->end("compile", "ok");
  console->end("stability", "skipped", "comes later");
  EXPECT_EQ(console.take(),
            "Ok           compile                            1.2 s\n"
            "Skipped      stability                   comes later\n");
}

TEST(Progress, ShowsRateAndTimeLeftOnATerminal) {
  Console console(terminal());
  console->begin("performance, batch 8", 200, "batches");
  console.pass(3);
  console->update(10);
  console.pass(2);
  console->update(50);
  EXPECT_EQ(shown(console.take()),
            "performance, batch 8  [#####...............]   25 %  20 batches/s  about 8 s left");
}

TEST(Progress, EstimatesNothingFromTheTimeBeforeTheFirstUnit) {
  Console console(terminal());
  console->begin("accuracy", 1000, "samples");
  console.pass(20);  // a model that loads slowly: 1000 samples would take hours
  console->update(1);
  EXPECT_EQ(shown(console.take()), "accuracy  [....................]    0 %");
  console.pass(0.5);
  console->update(51);
  EXPECT_EQ(shown(console.take()), "accuracy  [#...................]    5 %");
  console.pass(0.5);
  console->update(101);
  EXPECT_THAT(shown(console.take()), HasSubstr("100 samples/s  about 9 s left"));
}

TEST(Progress, SaysWhatTheBackendDoes) {
  Console console(terminal());
  console->begin("compile");
  console->set_total(100, "%");
  console->update(0, "quantising layer 7");
  console.pass(1);
  console->update(0, "quantising layer 7");
  console.pass(1);
  console->update(10, "quantising layer 7");
  console.pass(1);
  console->update(20, "quantising layer 7");
  EXPECT_EQ(shown(console.take()),
            "compile  quantising layer 7  [####................]   20 %  about 8 s left");
}

TEST(Progress, TellsTheRateOfTheLastSecondsNotOfThePhase) {
  Console console(terminal());
  console->begin("accuracy", 100'000, "samples");
  for (int second = 1; second <= 10; ++second) {  // slow at first
    console.pass(1);
    console->update(static_cast<std::uint64_t>(second));
  }
  for (int second = 1; second <= 10; ++second) {
    console.pass(1);
    console->update(static_cast<std::uint64_t>(10 + 1000 * second));
  }
  EXPECT_THAT(shown(console.take()), HasSubstr("1,000 samples/s"));
}

TEST(Progress, RedrawsAtMostTenTimesASecond) {
  Console console(terminal());
  console->begin("accuracy", 1000, "samples");
  console.take();
  int drawn = 0;
  for (std::uint64_t done = 1; done <= 1000; ++done) {
    console.pass(0.001);
    console->update(done);
    drawn += console.take().empty() ? 0 : 1;
  }
  EXPECT_LE(drawn, 10);
  EXPECT_GE(drawn, 9);
}

TEST(Progress, ShowsAnotherActivityAtOnce) {
  Console console(terminal());
  console->begin("compile");
  console.pass(0.01);
  console->update(0, "reading the model");
  EXPECT_EQ(shown(console.take()), "compile  reading the model  0.0 s");
  console.pass(0.01);
  console->update(0, "reading the model");
  EXPECT_EQ(console.take(), "");
}

TEST(Progress, DoesNotRedrawWhatIsShownAlready) {
  Console console(terminal());
  console->begin("accuracy", 1000, "samples");
  console.take();
  console.pass(1);
  console->update(0);
  console.pass(1);
  console->update(0);
  EXPECT_EQ(console.take(), "");
}

TEST(Progress, StaysWithinTheTerminal) {
  for (const int columns : {12, 30, 45, 60, 80, 200}) {
    Console console(terminal(columns));
    console->begin("performance, batch 1024 über", 1000, "batches");
    console.pass(2);
    console->update(500, "warming up");
    console.pass(2);
    console->update(900, "warming up");
    EXPECT_LT(width_of(shown(console.take())), static_cast<std::size_t>(columns)) << columns;
  }
}

TEST(Progress, LeavesAnEmptyLineBehind) {
  std::string text;
  {
    ProgressConsole progress([&](std::string_view part) { text += part; }, terminal(),
                             [] { return std::int64_t{0}; });
    progress.begin("compile");
  }
  EXPECT_EQ(shown(text), "");
}

TEST(Progress, LinesStandAboveTheLiveOne) {
  Console console(terminal());
  console->begin("compile");
  console.take();
  console->line("Warning: \x1b[2Jsomething");
  EXPECT_EQ(console.take(), "\r\x1b[KWarning:  [2Jsomething\n\rcompile  0.0 s\x1b[K");
}

TEST(Progress, CountsAnewWhenWarmUpEnds) {
  Console console(terminal());
  console->begin("performance", 100, "batches");
  console.pass(2);
  console->update(90, "warming up");
  console.pass(0.1);
  console->update(0);
  console.pass(1);
  console->update(10);
  EXPECT_THAT(shown(console.take()), HasSubstr("10 batches/s  about 9 s left"));
}

TEST(Progress, ColoursTheOutcomeOnlyWhenAsked) {
  Console plain(terminal());
  plain->end("compile", "crashed", "signal 11");
  EXPECT_THAT(plain.take(), Not(HasSubstr("\x1b[31m")));
  Console colored({.live = true, .color = true});
  colored->end("compile", "crashed", "signal 11");
  EXPECT_THAT(colored.take(), HasSubstr("\x1b[31mCrashed      \x1b[0m"));
}

class GoldenSummary : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, GoldenSummary,
                         ::testing::Values("example", "hard", "crashed", "minimal", "simulated"));

TEST_P(GoldenSummary, IsAsRecorded) {
  expect_golden(std::string("summary-") + GetParam() + ".txt",
                summary_text(golden_result(GetParam()), {},
                             {.report_path = "out/report.html", .result_path = "out/result.json"}));
}

TEST(Summary, SaysTheVerdictFirst) {
  const std::string text = summary_text(golden_result("hard"), {});
  EXPECT_EQ(text.substr(0, 5), "\nFAIL");
}

TEST(Summary, TextOfAResultCannotMoveTheCursor) {
  Json result = golden_result("example");
  result["task"] = "a\x1b[2Jb\nc";
  EXPECT_THAT(summary_text(result, {}), HasSubstr("a [2Jb c on CPU"));
}

}  // namespace
}  // namespace assay::report
