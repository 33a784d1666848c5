#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

struct VerdictLook {
  std::string_view verdict;
  std::string_view tone;  // class of the panel
  std::string_view icon;  // paths of a 24 x 24 drawing
};
constexpr VerdictLook kLooks[] = {
    {"pass", "good", "<path d=\"M6.5 12.5l3.8 3.8 7.4-8\"/>"},
    {"fail", "bad", "<path d=\"M8 8l8 8M16 8l-8 8\"/>"},
    {"inconclusive", "caution",
     "<path d=\"M9 9.3a3 3 0 1 1 4.2 3c-.9.5-1.2 1-1.2 1.9M12 17.2v.1\"/>"},
    {"incomplete", "bad", "<path d=\"M12 7v6.2M12 16.8v.1\"/>"},
};

const VerdictLook& look_of(std::string_view verdict) {
  for (const VerdictLook& look : kLooks) {
    if (look.verdict == verdict) return look;
  }
  return kLooks[3];
}

std::vector<std::string> names_with(const Json& list, std::string_view outcome) {
  std::vector<std::string> names;
  for (const Json& item : list) {
    if (string_at(item, "outcome") == outcome) names.push_back(string_at(item, "name"));
  }
  return names;
}

// "a", "a and b", "a, b and c"
std::string enumerated(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string unfinished_phases(const Json& result) {
  std::vector<std::string> texts;
  for (const Json& phase : list_at(result, "phases")) {
    const std::string outcome = string_at(phase, "outcome");
    if (outcome == "ok" || outcome == "skipped") continue;
    std::string what = words(outcome);
    std::transform(what.begin(), what.begin() + 1, what.begin(),
                   [](char c) { return static_cast<char>(c | 0x20); });
    texts.push_back(fmt::format("{} {}", string_at(phase, "name"), what));
  }
  return enumerated(texts);
}

// One sentence that a reader can act on.
std::string verdict_sentence(const Json& result) {
  const std::string verdict = string_at(result, "verdict");
  const Json& criteria = list_at(result, "criteria");
  const auto not_judged = names_with(criteria, "not_judged");
  std::string sentence;
  if (verdict == "pass") {
    sentence = "Every criterion that was judged is met.";
  } else if (verdict == "fail") {
    const std::string kind = kind_of_failure(result);
    if (!kind.empty()) sentence = words(kind) + ". ";
    sentence += fmt::format("Not met: {}.", enumerated(names_with(criteria, "fail")));
  } else if (verdict == "inconclusive") {
    const auto undecided = names_with(criteria, "inconclusive");
    sentence = undecided.empty() ? "Nothing failed, but no criterion was decided."
                                 : fmt::format("Nothing failed, but the data cannot decide: {}.",
                                               enumerated(undecided));
  } else {
    const std::string phases = unfinished_phases(result);
    sentence = bool_at(result, "interrupted") ? "The run was interrupted"
                                              : "The run could not be completed";
    sentence += phases.empty() ? "." : ": " + phases + ".";
  }
  if (!not_judged.empty()) sentence += fmt::format(" Not judged: {}.", enumerated(not_judged));
  return sentence;
}

std::string panel(const Json& result) {
  const std::string verdict = string_at(result, "verdict");
  const VerdictLook& look = look_of(verdict);
  return fmt::format(
      "<div class=\"verdict {}\">\n<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><circle "
      "cx=\"12\" "
      "cy=\"12\" r=\"11\"/>{}</svg>\n<div><p class=\"word\">{}</p>\n{}</div>\n</div>\n",
      look.tone, look.icon, escape_html(words(verdict)), paragraph(verdict_sentence(result)));
}

std::string tile(std::string_view name, std::string_view value, std::string_view note) {
  return fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name),
                     figure_with_note(escape_html(value), note));
}

std::string accuracy_tile(const Json& result) {
  const Json& accuracy = at(result, "accuracy");
  if (!accuracy.is_object()) return "";
  const std::string metric = string_at(accuracy, "metric");
  const auto reference = number_at(accuracy, "reference_value");
  return tile("Accuracy, " + metric_name(metric),
              format_metric(metric, number_at(accuracy, "value")),
              reference ? "reference " + format_metric(metric, reference) : "no reference");
}

std::string numeric_tile(const Json& result) {
  const Json& outputs = list_at(result, "numeric");
  if (outputs.empty()) return "";
  double largest = 0;
  std::int64_t mismatches = 0;
  for (const Json& output : outputs) {
    largest = std::max(largest, number_at(output, "max_abs").value_or(0));
    mismatches += static_cast<std::int64_t>(number_at(output, "nonfinite_mismatches").value_or(0));
  }
  const std::string note = mismatches > 0 ? format_count(mismatches) + " NaN or Inf mismatches"
                                          : "largest of any output value; no NaN or Inf mismatch";
  return tile("Numeric difference", format_number(largest), note);
}

// The valid row with the highest rate, and the one with the lowest latency.
std::string performance_tiles(const Json& result) {
  if (bool_at(result, "simulated")) return "";  // its times are not the device's
  const Json* fastest = nullptr;
  const Json* quickest = nullptr;
  for (const Json& row : list_at(result, "performance")) {
    const auto qps = number_at(row, "qps");
    const auto p50 = number_at(at(row, "latency_ns"), "p50");
    if (!bool_at(row, "valid")) continue;
    if (qps && (!fastest || *qps > *number_at(*fastest, "qps"))) fastest = &row;
    if (p50 && (!quickest || *p50 < *number_at(at(*quickest, "latency_ns"), "p50")))
      quickest = &row;
  }
  const auto where = [](const Json& row) {
    const bool one = number_at(row, "clients") == 1.0;
    std::string text = fmt::format("batch {}, {} {}", count_or_missing(row, "batch_size"),
                                   count_or_missing(row, "clients"), one ? "client" : "clients");
    if (has_few_calls(row)) text += fmt::format(", {} only", calls_text(row));
    if (bool_at(row, "noisy")) text += ", noisy host";
    if (at(row, "stable") == Json(false)) text += ", not stable";
    return text;
  };
  std::string tiles;
  if (fastest != nullptr) {
    tiles +=
        tile("Highest rate", number_or_missing(*fastest, "qps", 5) + " samples/s", where(*fastest));
  }
  if (quickest != nullptr) {
    const Json& latency = at(*quickest, "latency_ns");
    const auto p99 = number_at(latency, "p99");
    tiles += tile("Lowest latency, median", duration_or_missing(latency, "p50"),
                  where(*quickest) + (p99 ? ", P99 " + format_duration_ns(*p99) : ""));
  }
  return tiles;
}

std::string criteria_table(const Json& result) {
  HtmlTable table("Criteria, what was found and what was wanted",
                  {{"Criterion"}, {"Outcome"}, {"Found"}, {"Wanted"}});
  for (const Json& criterion : list_at(result, "criteria")) {
    table.add_row({escape_html(words(string_at(criterion, "name"))),
                   badge(string_at(criterion, "outcome")),
                   figure_with_note(escape_html(with_separators(string_at(criterion, "found"))),
                                    with_separators(string_at(criterion, "detail"))),
                   escape_html(string_at(criterion, "wanted"))});
  }
  return table.empty() ? paragraph("No criterion was reached.") : table.html();
}

std::string notices(const Json& result) {
  std::string html;
  const Json& warnings = list_at(result, "warnings");
  if (!warnings.empty()) {
    html +=
        "<div class=\"notice caution\">\n<h3>Warnings</h3>\n" + text_list(warnings) + "</div>\n";
  }
  Json notes = list_at(result, "notes");
  const bool is_said = std::ranges::any_of(
      notes, [](const Json& note) { return text_of(note).starts_with("Self-comparison"); });
  if (bool_at(result, "self_comparison") && !is_said) {
    notes.insert(notes.begin(),
                 "Self-comparison: the hardware under test is also the reference, so differences "
                 "between the two say nothing about the hardware.");
  }
  if (string_at(at(at(result, "provenance"), "model"), "weights") == "seeded_random") {
    notes.insert(notes.begin(),
                 "The weights are seeded random numbers: the figures tell speed and "
                 "numerics, and nothing about accuracy.");
  }
  if (!notes.empty()) {
    html += "<div class=\"notice\">\n<h3>Notes</h3>\n" + text_list(notes) + "</div>\n";
  }
  return html;
}

std::string not_tested(const Json& result) {
  std::string items;
  for (const Json& item : list_at(result, "not_tested")) {
    items += fmt::format("<li><strong>{}</strong>: {}</li>\n",
                         escape_html(words(string_at(item, "what"))),
                         escape_html(string_at(item, "why")));
  }
  if (items.empty()) return "";
  return "<div class=\"notice\">\n<h3>Not tested in this run</h3>\n<ul>\n" + items +
         "</ul>\n</div>\n";
}

}  // namespace

std::string verdict_section(const Json& result) {
  std::string html = panel(result);
  const std::string tiles =
      accuracy_tile(result) + performance_tiles(result) + numeric_tile(result);
  if (!tiles.empty()) html += element("dl", "\n" + tiles, "tiles") + "\n";
  html += simulated_notice(result) + criteria_table(result) + notices(result) + not_tested(result);
  return section("verdict", "Verdict", html);
}

}  // namespace assay::report
