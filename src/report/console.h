#pragma once

// What a run says on a terminal: live progress while it goes, a summary when it is done.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"

namespace assay::report {

// How to write to a place. The default is a file or a pipe.
struct ConsoleStyle {
  bool live = false;   // a terminal that understands carriage return and "erase to end of line"
  bool color = false;  // ANSI colours
  int columns = 100;   // width; live lines are cut to it
};

// The style of file descriptor `fd`. Not a terminal: no live line, no colour. TERM=dumb or no TERM:
// neither. NO_COLOR set to anything but "": no colour. Width from the terminal, then COLUMNS, then
// 100 (80 for a terminal).
ConsoleStyle console_style_of(int fd);

// The same rules on given facts; what console_style_of calls.
struct ConsoleFacts {
  bool is_terminal = false;
  int terminal_columns = 0;                            // 0: not known
  std::optional<std::string> term, no_color, columns;  // environment
};
ConsoleStyle console_style(const ConsoleFacts& facts);

using ConsoleSink = std::function<void(std::string_view)>;
// Writes to `fd` at once; errors are ignored (a closed terminal must not end a run).
ConsoleSink fd_sink(int fd);

// Progress through the phases of a run. On a terminal the phase that goes on is one line, redrawn
// in place at most ten times a second, and when what it says of the activity changes:
//   performance bs 8  [#######.............]  36 %  3,790 batches/s  about 12 s left
// and when it ends, or off a terminal, one line that stays:
//   ok       performance bs 8                      18.2 s
// One thread at a time.
class ProgressConsole {
 public:
  ProgressConsole(ConsoleSink sink, ConsoleStyle style,
                  std::function<std::int64_t()> clock_ns = now_ns);
  ~ProgressConsole();  // leaves the cursor on an empty line
  ProgressConsole(const ProgressConsole&) = delete;
  ProgressConsole& operator=(const ProgressConsole&) = delete;

  // `unit` names what is counted, in the plural: "samples", "batches". A total of 0: not known.
  void begin(std::string_view phase, std::uint64_t total = 0, std::string_view unit = "");
  // `done` units of the phase so far. `activity` says what goes on ("warming up"); "" when that is
  // plain. Cheap to call often. Ignored when no phase is open.
  void update(std::uint64_t done, std::string_view activity = "");
  // A different total, e.g. when a row goes on until its percentile's floor, and what is counted.
  void set_total(std::uint64_t total);
  void set_total(std::uint64_t total, std::string_view unit);
  // `outcome`: a word of result.json ("ok", "failed", ...). Opens and closes the phase when it is
  // not the open one, so that skipped phases are one call.
  void end(std::string_view phase, std::string_view outcome, std::string_view reason = "");
  // A line that stays, e.g. a warning; drawn above the live one.
  void line(std::string_view text);

 private:
  struct Window {  // for the rate: where counting was a while ago
    std::int64_t at_ns = 0;
    std::uint64_t done = 0;
  };
  void draw();
  void erase();
  std::string live_text(std::int64_t now) const;

  ConsoleSink sink_;
  ConsoleStyle style_;
  std::function<std::int64_t()> clock_ns_;
  bool open_ = false;
  bool drawn_ = false;
  bool counting_ = false;  // a unit of this phase is done
  std::string phase_, unit_, activity_, last_drawn_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  std::int64_t began_ns_ = 0;
  std::int64_t drawn_ns_ = 0;
  Window older_, newer_;
};

// The end of a run in plain text: verdict first, then criteria, accuracy, numerics, performance,
// phases that did not end well, warnings. `report_path` and `result_path` are shown when given.
struct SummaryPaths {
  std::string report_path;
  std::string result_path;
};
std::string summary_text(const Json& result, const ConsoleStyle& style,
                         const SummaryPaths& paths = {});

}  // namespace assay::report
