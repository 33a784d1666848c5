#include "report/ansi.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace assay::report {
namespace {

struct OutcomeTone {
  std::string_view outcome;
  Tone tone;
};
constexpr std::array<OutcomeTone, 12> kOutcomeTones{{{"pass", Tone::kGood},
                                                     {"ok", Tone::kGood},
                                                     {"fail", Tone::kBad},
                                                     {"failed", Tone::kBad},
                                                     {"crashed", Tone::kBad},
                                                     {"timed_out", Tone::kBad},
                                                     {"out_of_memory", Tone::kBad},
                                                     {"incomplete", Tone::kBad},
                                                     {"inconclusive", Tone::kCaution},
                                                     {"skipped", Tone::kQuiet},
                                                     {"not_judged", Tone::kQuiet},
                                                     {"not judged", Tone::kQuiet}}};

std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "\x1b[32m";
    case Tone::kBad:
      return "\x1b[31m";
    case Tone::kCaution:
      return "\x1b[33m";
    case Tone::kQuiet:
      return "\x1b[2m";
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kPlain:
      break;
  }
  return "";
}

std::string blanks(std::string_view text, std::size_t columns) {
  return std::string(columns - std::min(columns, width_of(text)), ' ');
}

}  // namespace

Tone tone_of(std::string_view outcome) {
  const auto* found = std::find_if(kOutcomeTones.begin(), kOutcomeTones.end(),
                                   [&](const OutcomeTone& row) { return row.outcome == outcome; });
  return found == kOutcomeTones.end() ? Tone::kPlain : found->tone;
}

std::string painted(std::string_view text, Tone tone, bool color) {
  const std::string_view code = color ? code_of(tone) : "";
  if (code.empty()) return std::string(text);
  return std::string(code).append(text).append("\x1b[0m");
}

std::size_t width_of(std::string_view utf8) { return character_count(utf8); }

std::string cut_to(std::string_view utf8, std::size_t columns) {
  std::size_t width = 0;
  std::size_t end = 0;
  for (; end < utf8.size(); ++end) {
    if (starts_character(utf8[end]) && width++ == columns) break;
  }
  return std::string(utf8.substr(0, end));
}

std::string left_aligned(std::string_view utf8, std::size_t columns) {
  return std::string(utf8) + blanks(utf8, columns);
}

std::string right_aligned(std::string_view utf8, std::size_t columns) {
  return blanks(utf8, columns).append(utf8);
}

std::string printable(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(),
      [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }, ' ');
  return clean;
}

}  // namespace assay::report
