#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/ansi.h"
#include "report/console.h"
#include "report/format.h"

namespace assay::report {
namespace {

constexpr std::string_view kIndent = "  ";

// A cell of a table whose numbers stand on the right.
struct Column {
  std::string title;
  bool right = true;
};

std::string table(const std::vector<Column>& columns,
                  const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::size_t width = width_of(columns[i].title);
    for (const auto& row : rows) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell) {
    std::string text(kIndent);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += "  ";
      text +=
          columns[i].right ? right_aligned(cell(i), widths[i]) : left_aligned(cell(i), widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](std::size_t i) { return columns[i].title; });
  for (const auto& row : rows) text += line([&](std::size_t i) { return row[i]; });
  return text;
}

std::string headline(const Json& result, const ConsoleStyle& style) {
  const std::string verdict = string_at(result, "verdict");
  std::string word = verdict;
  std::transform(word.begin(), word.end(), word.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const std::string kind = kind_of_failure(result);
  return fmt::format("\n{}  {} on {}{}{}{}\n", painted(word, tone_of(verdict), style.color),
                     painted(printable(string_at(result, "task")), Tone::kStrong, style.color),
                     printable(string_at(result, "hardware_type")),
                     bool_at(result, "simulated") ? " (simulated)" : "",
                     bool_at(result, "interrupted") ? "  (interrupted)" : "",
                     kind.empty() ? "" : ": " + printable(kind));
}

std::string criteria(const Json& result, const ConsoleStyle& style) {
  std::string text;
  for (const Json& criterion : list_at(result, "criteria")) {
    const std::string outcome = string_at(criterion, "outcome");
    text += fmt::format("{}{}{}{}; wanted: {}\n", kIndent,
                        painted(left_aligned(words(outcome), 14), tone_of(outcome), style.color),
                        left_aligned(printable(string_at(criterion, "name")), 13),
                        printable(with_separators(string_at(criterion, "found"))),
                        printable(string_at(criterion, "wanted")));
    const std::string detail = string_at(criterion, "detail");
    if (tone_of(outcome) != Tone::kBad || detail.empty()) continue;
    text +=
        fmt::format("{}{}{}\n", kIndent, std::string(27, ' '), printable(with_separators(detail)));
  }
  return text.empty() ? "" : "\n" + text;
}

std::string accuracy(const Json& result) {
  const Json& accuracy = at(result, "accuracy");
  if (!accuracy.is_object()) return "";
  const std::string metric = string_at(accuracy, "metric");
  const std::string text = fmt::format("\n{}Accuracy  {} {}", kIndent, metric_name(metric),
                                       format_metric(metric, number_at(accuracy, "value")));
  const Json& interval = list_at(accuracy, "interval");
  std::string details = fmt::format("n {}", count_or_missing(accuracy, "n"));
  if (interval.size() == 2 && interval[0].is_number() && interval[1].is_number()) {
    details =
        fmt::format("95 % interval {} to {}, ", format_metric(metric, interval[0].get<double>()),
                    format_metric(metric, interval[1].get<double>())) +
        details;
  }
  if (const auto reference = number_at(accuracy, "reference_value")) {
    details += ", reference " + format_metric(metric, reference);
  }
  return text + fmt::format("  ({})\n", details);
}

std::string coverage(const Json& result) {
  const Json& coverage = at(at(result, "compile"), "coverage");
  if (!coverage.is_object()) return "";
  const Json& segments = list_at(coverage, "segments");
  const auto fallbacks = std::ranges::count_if(
      segments, [](const Json& segment) { return bool_at(segment, "is_fallback"); });
  std::string text =
      fmt::format("\n{}Segments  {}, {} of them on the CPU", kIndent, segments.size(), fallbacks);
  if (const auto percent = number_at(coverage, "operators_percent")) {
    text += fmt::format("; {} of the operators", format_percent(*percent / 100, 1));
    if (const auto share = number_at(coverage, "device_time_share")) {
      text += fmt::format(" and {} of the time", format_percent(*share, 1));
    }
    text += " on the device";
  }
  return text + "\n";
}

std::string numeric(const Json& result) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& output : list_at(result, "numeric")) {
    rows.push_back({printable(string_at(output, "output")), number_or_missing(output, "max_abs"),
                    number_or_missing(output, "mean_abs"), number_or_missing(output, "cosine", 6),
                    count_or_missing(output, "nonfinite_mismatches"),
                    words(string_at(output, "judged"))});
  }
  if (rows.empty()) return "";
  return "\n" + table({{"Output", false},
                       {"max |diff|"},
                       {"mean |diff|"},
                       {"cosine"},
                       {"NaN/Inf mismatches"},
                       {"", false}},
                      rows);
}

std::string standing(const Json& row) {
  if (!bool_at(row, "valid")) return "not valid";
  if (bool_at(row, "noisy")) return "noisy host";
  if (has_few_calls(row)) return calls_text(row) + " only";
  const Json& stable = at(row, "stable");
  return stable.is_boolean() && !stable.get<bool>() ? "not stable" : "";
}

std::string modelled(const Json& result) {
  if (!bool_at(result, "simulated")) return "";
  const Json& estimate = at(at(at(result, "compile"), "declared"), "modelled");
  std::vector<std::vector<std::string>> rows;
  for (const Json& figure : list_at(estimate, "figures")) {
    rows.push_back({printable(string_at(figure, "name")), printable(estimate_text(figure))});
  }
  std::string text;
  if (!rows.empty()) {
    text = fmt::format("\n{}Modelled, not measured: {}. {}\n", kIndent,
                       printable(string_at(estimate, "device")),
                       printable(string_at(estimate, "checked_against"))) +
           table({{"Estimate", false}, {""}}, rows);
  }
  if (list_at(result, "performance").empty()) return text;
  return text +
         fmt::format("\n{}Times of the simulation on this host, not of the device:\n", kIndent);
}

std::string performance(const Json& result) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& row : list_at(result, "performance")) {
    const Json& latency = at(row, "latency_ns");
    rows.push_back({count_or_missing(row, "batch_size"), count_or_missing(row, "clients"),
                    number_or_missing(row, "qps", 5), duration_or_missing(latency, "mean"),
                    duration_or_missing(latency, "p50"), duration_or_missing(latency, "p99"),
                    duration_or_missing(at(row, "upper99"), "p99"), standing(row)});
  }
  if (rows.empty()) return "";
  return "\n" + table({{"Batch"},
                       {"Clients"},
                       {"QPS"},
                       {"Mean"},
                       {"P50"},
                       {"P99"},
                       {"P99 at most"},
                       {"", false}},
                      rows);
}

std::string phases(const Json& result, const ConsoleStyle& style) {
  std::string text;
  for (const Json& phase : list_at(result, "phases")) {
    const std::string outcome = string_at(phase, "outcome");
    if (tone_of(outcome) != Tone::kBad) continue;
    text += fmt::format("{}{} {}: {}\n", kIndent,
                        painted(words(outcome), tone_of(outcome), style.color),
                        printable(string_at(phase, "name")), printable(string_at(phase, "reason")));
  }
  return text.empty() ? "" : "\n" + text;
}

std::string remarks(const Json& result, const ConsoleStyle& style) {
  std::string text;
  for (const Json& row : list_at(result, "performance")) {
    for (const Json& reason : list_at(row, "reasons")) {
      text += fmt::format("{}Batch {}: {}\n", kIndent, count_or_missing(row, "batch_size"),
                          printable(text_of(reason)));
    }
  }
  for (const Json& warning : list_at(result, "warnings")) {
    text += fmt::format("{}{} {}\n", kIndent, painted("Warning:", Tone::kCaution, style.color),
                        printable(text_of(warning)));
  }
  for (const Json& note : list_at(result, "notes")) {
    text += fmt::format("{}Note: {}\n", kIndent, printable(text_of(note)));
  }
  return text.empty() ? "" : "\n" + text;
}

std::string places(const SummaryPaths& paths) {
  std::string text;
  if (!paths.report_path.empty()) text += fmt::format("{}Report  {}\n", kIndent, paths.report_path);
  if (!paths.result_path.empty()) text += fmt::format("{}Result  {}\n", kIndent, paths.result_path);
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string summary_text(const Json& result, const ConsoleStyle& style, const SummaryPaths& paths) {
  return headline(result, style) + criteria(result, style) + accuracy(result) + coverage(result) +
         numeric(result) + modelled(result) + performance(result) + phases(result, style) +
         remarks(result, style) + places(paths);
}

}  // namespace assay::report
