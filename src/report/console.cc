#include "report/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "report/ansi.h"
#include "report/format.h"

namespace assay::report {
namespace {

constexpr std::int64_t kRedrawNs = 100'000'000;        // at most ten times a second
constexpr std::int64_t kRateWindowNs = 2'000'000'000;  // rates are over the last 2 to 4 s
constexpr std::int64_t kLeastRateNs = 1'000'000'000;   // a rate of less time says little
constexpr std::size_t kBarColumns = 20;
constexpr std::size_t kOutcomeColumns = 13;
constexpr std::size_t kPhaseColumns = 28;
constexpr std::string_view kEraseToEnd = "\x1b[K";

int parse_columns(const std::optional<std::string>& text) {
  int columns = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), columns);
  return columns;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// "0.4 s", "18.2 s", "2 min 05 s", "1 h 02 min"
std::string elapsed_text(std::int64_t ns) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e9;
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string left_text(double seconds) {
  if (seconds >= 59.5) return elapsed_text(static_cast<std::int64_t>(seconds * 1e9));
  return fmt::format("{} s", std::max(1LL, std::llround(seconds)));
}

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kBarColumns));
  return "[" + std::string(full, '#') + std::string(kBarColumns - full, '.') + "]";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty() && !part.empty()) text += "  ";
    text += part;
  }
  return text;
}

}  // namespace

ConsoleStyle console_style(const ConsoleFacts& facts) {
  ConsoleStyle style;
  style.live = facts.is_terminal && facts.term && !facts.term->empty() && *facts.term != "dumb";
  style.color = style.live && (!facts.no_color || facts.no_color->empty());
  const int asked = parse_columns(facts.columns);
  if (facts.terminal_columns > 0) {
    style.columns = facts.terminal_columns;
  } else if (asked > 0) {
    style.columns = asked;
  } else {
    style.columns = facts.is_terminal ? 80 : 100;
  }
  return style;
}

ConsoleStyle console_style_of(int fd) {
  ConsoleFacts facts;
  facts.is_terminal = ::isatty(fd) == 1;
  winsize size{};
  if (facts.is_terminal && ::ioctl(fd, TIOCGWINSZ, &size) == 0)
    facts.terminal_columns = size.ws_col;
  facts.term = environment("TERM");
  facts.no_color = environment("NO_COLOR");
  facts.columns = environment("COLUMNS");
  return console_style(facts);
}

ConsoleSink fd_sink(int fd) {
  return [fd](std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(fd, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  };
}

ProgressConsole::ProgressConsole(ConsoleSink sink, ConsoleStyle style,
                                 std::function<std::int64_t()> clock_ns)
    : sink_(std::move(sink)), style_(style), clock_ns_(std::move(clock_ns)) {}

ProgressConsole::~ProgressConsole() { erase(); }

void ProgressConsole::begin(std::string_view phase, std::uint64_t total, std::string_view unit) {
  erase();
  open_ = true;
  phase_ = printable(phase);
  unit_ = unit;
  activity_.clear();
  total_ = total;
  done_ = 0;
  counting_ = false;
  began_ns_ = clock_ns_();
  older_ = newer_ = {began_ns_, 0};
  draw();
}

void ProgressConsole::update(std::uint64_t done, std::string_view activity) {
  if (!open_) return;
  const std::int64_t now = clock_ns_();
  const std::string said = printable(activity);
  const bool changed = said != activity_;
  // Counting starts anew when it jumps back, e.g. from warm-up to measurement.
  if (done < done_ || changed) older_ = newer_ = {now, done};
  // What came before the first unit was done, such as loading the model, tells nothing of the rest.
  if (!counting_ && done > 0) older_ = newer_ = {now, done};
  counting_ = counting_ || done > 0;
  done_ = done;
  if (changed) activity_ = said;
  if (now - newer_.at_ns >= kRateWindowNs) {
    older_ = newer_;
    newer_ = {now, done};
  }
  if (!drawn_ || changed || now - drawn_ns_ >= kRedrawNs) draw();
}

void ProgressConsole::set_total(std::uint64_t total) { total_ = total; }

void ProgressConsole::set_total(std::uint64_t total, std::string_view unit) {
  total_ = total;
  unit_ = printable(unit);
}

void ProgressConsole::end(std::string_view phase, std::string_view outcome,
                          std::string_view reason) {
  erase();
  const bool was_open = open_ && printable(phase) == phase_;
  std::string text =
      painted(left_aligned(words(outcome), kOutcomeColumns), tone_of(outcome), style_.color);
  text += left_aligned(printable(phase), kPhaseColumns);
  if (was_open) text += right_aligned(elapsed_text(clock_ns_() - began_ns_), 12);
  if (!reason.empty()) text += (was_open ? "  " : "") + printable(reason);
  text.erase(text.find_last_not_of(' ') + 1);
  sink_(text + "\n");
  open_ = open_ && !was_open;
  draw();
}

void ProgressConsole::line(std::string_view text) {
  erase();
  sink_(printable(text) + "\n");
  draw();
}

std::string ProgressConsole::live_text(std::int64_t now) const {
  const std::int64_t counted_ns = now - older_.at_ns;
  const double counted = static_cast<double>(done_) - static_cast<double>(older_.done);
  const double rate = counted_ns >= kLeastRateNs && counted > 0
                          ? counted / (static_cast<double>(counted_ns) / 1e9)
                          : 0;
  std::string progress, share, rate_text, left;
  if (total_ > 0) {
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    progress = bar(part);
    share = fmt::format("{:3.0f} %", std::floor(part * 100));
    if (rate > 0 && done_ < total_) {
      left = fmt::format("about {} left", left_text(static_cast<double>(total_ - done_) / rate));
    }
  }
  if (rate > 0 && !unit_.empty() && unit_ != "%")
    rate_text = fmt::format("{} {}/s", format_number(rate, 3), unit_);
  if (share.empty()) left = elapsed_text(now - began_ns_);
  // What matters least goes first when the line is too narrow.
  const auto width = static_cast<std::size_t>(std::max(10, style_.columns - 1));
  for (const auto& parts :
       std::vector<std::vector<std::string>>{{phase_, activity_, progress, share, rate_text, left},
                                             {phase_, activity_, share, rate_text, left},
                                             {phase_, share, rate_text, left},
                                             {phase_, share, left}}) {
    if (std::string text = joined(parts); width_of(text) <= width) return text;
  }
  return cut_to(joined({phase_, share}), width);
}

void ProgressConsole::draw() {
  if (!open_ || !style_.live) return;
  const std::int64_t now = clock_ns_();
  std::string text = live_text(now);
  drawn_ns_ = now;
  if (drawn_ && text == last_drawn_) return;
  sink_("\r" + text + std::string(kEraseToEnd));
  last_drawn_ = std::move(text);
  drawn_ = true;
}

void ProgressConsole::erase() {
  if (!drawn_) return;
  sink_("\r" + std::string(kEraseToEnd));
  drawn_ = false;
}

}  // namespace assay::report
