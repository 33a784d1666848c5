#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

// What an axis changes while the input stays the same.
std::string_view axis_title(std::string_view axis) {
  static constexpr std::pair<std::string_view, std::string_view> kTitles[] = {
      {"repeat", "Same handle, again"},
      {"handle", "New handle"},
      {"process", "New process"},
      {"compilation", "New compilation"},
      {"position", "Place in the batch"},
      {"neighbours", "Other neighbours in the batch"},
      {"batch_size", "Other batch size"},
      {"concurrency", "Several callers at once"},
      {"after_load", "After sustained load"}};
  const auto* const found =
      std::ranges::find(kTitles, axis, &std::pair<std::string_view, std::string_view>::first);
  return found == std::end(kTitles) ? axis : found->second;
}

std::string verdict_badge(std::string_view verdict) {
  if (verdict == "bit_stable") return "<span class=\"badge good\">Same bits</span>";
  if (verdict == "within_noise_floor") {
    return "<span class=\"badge good\">Within rounding</span>";
  }
  if (verdict == "unstable") return "<span class=\"badge bad\">Unstable</span>";
  return "<span class=\"badge quiet\">Not tested</span>";
}

std::string rate_text(const Json& axis) {
  const auto rate = number_at(axis, "rate_upper_95");
  return rate ? format_percent(*rate) : std::string(kMissing);
}

// One square of the picture.
std::string tile(const Json& axis) {
  const std::string verdict = string_at(axis, "verdict");
  const std::string_view kind = verdict == "unstable"     ? "bad"
                                : verdict == "not_tested" ? "quiet"
                                                          : "good";
  std::string text =
      verdict == "not_tested"
          ? string_at(axis, "why")
          : fmt::format("{} of {} {} differ; at most {} do", count_or_missing(axis, "differing"),
                        count_or_missing(axis, "n"), string_at(axis, "unit"), rate_text(axis));
  return element("li",
                 element("b", escape_html(axis_title(string_at(axis, "axis")))) + " " +
                     verdict_badge(verdict) + element("small", prose(text)),
                 fmt::format("cell {}", kind)) +
         "\n";
}

std::string axes_table(const Json& axes) {
  HtmlTable table("Stability by axis", {{"Axis"},
                                        {"Tested", true},
                                        {"Differing", true},
                                        {"Largest difference", true},
                                        {"Units in the last place", true},
                                        {"Label flips", true},
                                        {"Rate at most (95 %)", true}});
  for (const Json& axis : axes) {
    if (string_at(axis, "verdict") == "not_tested") continue;
    table.add_row(
        {escape_html(axis_title(string_at(axis, "axis"))),
         escape_html(fmt::format("{} {}", count_or_missing(axis, "n"), string_at(axis, "unit"))),
         count_or_missing(axis, "differing"), number_or_missing(axis, "max_abs"),
         number_or_missing(axis, "max_ulp"), count_or_missing(axis, "label_flips"),
         escape_html(rate_text(axis))});
  }
  return table.empty() ? "" : table.html();
}

// What there is to say of an axis that fails.
std::string failing_axis(const Json& axis) {
  std::string html = element(
      "h3", escape_html(axis_title(string_at(axis, "axis"))) + " " + verdict_badge("unstable"));
  if (const std::string cause = string_at(axis, "suspected_cause"); !cause.empty()) {
    html += paragraph("Suspected cause: " + cause + ".");
  }
  FactList facts;
  facts.add("Differing", fmt::format("{} of {} {}", count_or_missing(axis, "differing"),
                                     count_or_missing(axis, "n"), string_at(axis, "unit")));
  facts.add("Calls that differ", fmt::format("{} of {}", count_or_missing(axis, "differing_calls"),
                                             count_or_missing(axis, "calls")));
  facts.add("First sample that differs", text_or_missing(axis, "first_sample_id"));
  facts.add("First call that differs", count_or_missing(axis, "first_differing_call"));
  facts.add("Largest difference", number_or_missing(axis, "max_abs"));
  facts.add("In units in the last place", number_or_missing(axis, "max_ulp"));
  facts.add("Label flips", count_or_missing(axis, "label_flips"));
  facts.add("NaN or infinity on one side", count_or_missing(axis, "nonfinite"));
  facts.add("Rate, 95 % upper limit", rate_text(axis));
  html += facts.html();
  if (const std::string command = string_at(axis, "command"); !command.empty()) {
    html += paragraph("To see it again:") + command_block(command);
  }
  return element("article", "\n" + html) + "\n";
}

std::string why_not_tested(const Json& result) {
  for (const Json& phase : list_at(result, "phases")) {
    if (string_at(phase, "name") != "stability") continue;
    const std::string reason = string_at(phase, "reason");
    if (!reason.empty()) return reason;
  }
  return "the stability matrix was not run";
}

}  // namespace

std::string stability_section(const Json& result) {
  const Json& axes = list_at(result, "stability");
  if (axes.empty()) {
    return section("stability", "Stability",
                   paragraph("Not tested: " + why_not_tested(result) +
                             ". Nothing here says that the same input always gives the same "
                             "output."));
  }
  std::string tiles;
  for (const Json& axis : axes) tiles += tile(axis);
  std::string html =
      paragraph(
          "Is the same input always given the same answer, whatever changes around it? Each "
          "output is held against that input's first, bit by bit.",
          "lead") +
      element("ul", "\n" + tiles, "matrix") + "\n" + axes_table(axes);
  for (const Json& axis : axes) {
    if (string_at(axis, "verdict") == "unstable") html += failing_axis(axis);
  }
  return section("stability", "Stability", html);
}

}  // namespace assay::report
