#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

struct ShownPercentile {
  const char* key;
  const char* title;
};
constexpr std::array<ShownPercentile, 5> kShownPercentiles{
    {{"p50", "P50"}, {"p90", "P90"}, {"p95", "P95"}, {"p99", "P99"}, {"p999", "P99.9"}}};

bool is_interval(const Json& interval) {
  return interval.size() == 2 && interval[0].is_number() && interval[1].is_number();
}

std::string duration_interval(const Json& row, std::string_view key) {
  const Json& interval = list_at(at(at(row, "intervals"), "latency_ns"), key);
  if (!is_interval(interval)) return "";
  return fmt::format("{} to {}", format_duration_ns(interval[0].get<double>()),
                     format_duration_ns(interval[1].get<double>()));
}

std::string rate_interval(const Json& row) {
  const Json& interval = list_at(at(row, "intervals"), "qps");
  if (!is_interval(interval)) return "";
  return fmt::format("{} to {}", format_number(interval[0].get<double>(), 5),
                     format_number(interval[1].get<double>(), 5));
}

const Json* withheld(const Json& row, std::string_view percentile) {
  for (const Json& item : list_at(row, "withheld")) {
    if (string_at(item, "percentile") == percentile) return &item;
  }
  return nullptr;
}

std::string percentile_cell(const Json& row, const char* key) {
  if (const auto value = number_at(at(row, "latency_ns"), key)) {
    const auto bound = number_at(at(row, "upper99"), key);
    return figure_with_note(escape_html(format_duration_ns(*value)),
                            bound ? "at most " + format_duration_ns(*bound) : "");
  }
  if (const Json* why = withheld(row, key)) {
    return figure_with_note("withheld", "needs " + count_or_missing(*why, "samples_needed"));
  }
  return std::string(kMissing);
}

std::string titled(const Json& row, std::string_view title) {
  return fmt::format("{}{}", title, bool_at(row, "simulated") ? ", of the simulation" : "");
}

std::string validity_badge(const Json& row) {
  if (!bool_at(row, "valid")) return "<span class=\"badge bad\">Not valid</span>";
  if (!has_few_calls(row)) return "<span class=\"badge good\">Valid</span>";
  return fmt::format("<span class=\"badge caution\">Valid, but {} only</span>", calls_text(row));
}

std::string standing_badges(const Json& row) {
  std::string html = validity_badge(row);
  if (bool_at(row, "simulated")) html += " <span class=\"badge caution\">Simulated</span>";
  const Json& stable = at(row, "stable");
  if (stable.is_boolean()) {
    html += stable.get<bool>() ? " <span class=\"badge good\">Stable</span>"
                               : " <span class=\"badge caution\">Not stable</span>";
  }
  if (bool_at(row, "noisy")) html += " <span class=\"badge caution\">Noisy host</span>";
  return html;
}

std::string rows_table(const Json& rows) {
  std::vector<HtmlTable::Column> columns{
      {"Batch", true}, {"Clients", true}, {"QPS", true}, {"Mean", true}};
  for (const ShownPercentile& percentile : kShownPercentiles) {
    columns.push_back({percentile.title, true});
  }
  columns.push_back({"Standing"});
  HtmlTable table("Rate and latency by batch size", std::move(columns));
  for (const Json& row : rows) {
    std::vector<std::string> cells{
        count_or_missing(row, "batch_size"), count_or_missing(row, "clients"),
        figure_with_note(number_or_missing(row, "qps", 5), rate_interval(row)),
        escape_html(duration_or_missing(at(row, "latency_ns"), "mean"))};
    for (const ShownPercentile& percentile : kShownPercentiles) {
      cells.push_back(percentile_cell(row, percentile.key));
    }
    cells.push_back(standing_badges(row));
    table.add_row(std::move(cells));
  }
  return table.html();
}

std::string warmup_text(const Json& row) {
  const Json& warmup = at(row, "warmup");
  if (!warmup.is_object()) return "";
  const Json& steady = at(warmup, "steady");
  std::string text = fmt::format("{} calls, {}", count_or_missing(warmup, "calls"),
                                 duration_or_missing(warmup, "duration_ns", 3));
  if (steady.is_boolean()) text += steady.get<bool>() ? ", then steady" : ", not steady at the cap";
  return text;
}

std::string percent_text(const Json& row, std::string_view key) {
  const auto share = number_at(row, key);
  return share ? format_percent(*share) : "";
}

std::string outputs_text(const Json& row) {
  const Json& outputs = at(row, "outputs_checked");
  if (!outputs.is_object()) return "";
  return fmt::format("{} compared, {} differ", count_or_missing(outputs, "checked"),
                     count_or_missing(outputs, "differing"));
}

std::string inputs_text(const Json& row) {
  const Json& inputs = at(row, "inputs");
  if (!inputs.is_object()) return "";
  std::string text = text_or_missing(inputs, "source");
  if (const auto distinct = number_at(inputs, "distinct")) {
    text += ", " + format_number(*distinct) + " distinct";
  }
  if (const auto ratio = number_at(inputs, "repeated_rate_ratio")) {
    text += fmt::format("; repeated ones run at {} of this rate", format_number(*ratio));
  }
  return text;
}

std::string shapes_text(const Json& row) {
  const Json& shapes = at(row, "input_shapes");
  if (!shapes.is_object()) return "";
  std::string text;
  for (const auto& shape : shapes.items()) {
    text += fmt::format("{}{} [{}]", text.empty() ? "" : "; ", shape.key(), text_of(shape.value()));
  }
  return text;
}

std::string rounds_text(const Json& row) {
  std::string text;
  for (const Json& round : list_at(row, "rounds")) {
    text += (text.empty() ? "" : ", ") + number_or_missing(round, "qps", 5);
  }
  return text;
}

std::string batch_text(const Json& row) {
  const auto asked = number_at(row, "asked_batch_size");
  const auto fed = number_at(row, "batch_size");
  if (!asked || !fed || *asked == *fed) return "";
  return fmt::format("asked for {}, loaded and fed {}", format_number(*asked), format_number(*fed));
}

std::string row_facts(const Json& row) {
  FactList facts;
  facts.add("Batch size", batch_text(row));
  facts.add("Scenario", text_or_missing(row, "scenario"));
  facts.add("Input shapes", shapes_text(row));
  facts.add("Inputs", inputs_text(row));
  facts.add("Calls measured", count_or_missing(row, "samples"));
  facts.add("Independent ones", count_or_missing(row, "effective_samples"));
  facts.add("Failures", count_or_missing(row, "failures"));
  facts.add("In flight, counted", number_or_missing(row, "in_flight"));
  facts.add("Backend instances", count_or_missing(row, "backend_instances"));
  facts.add("First call (cold)", duration_or_missing(row, "cold_ns"));
  facts.add("Load to first result", duration_or_missing(row, "load_to_first_result_ns"));
  facts.add("Warm-up", warmup_text(row));
  facts.add("Fastest and slowest call",
            fmt::format("{} and {}", duration_or_missing(at(row, "latency_ns"), "min"),
                        duration_or_missing(at(row, "latency_ns"), "max")));
  facts.add("Mean, 95 % interval", duration_interval(row, "mean"));
  facts.add("P50, 95 % interval", duration_interval(row, "p50"));
  facts.add("P99, 95 % interval", duration_interval(row, "p99"));
  facts.add("QPS of each round", rounds_text(row));
  facts.add("Variation between rounds", percent_text(row, "cv"));
  facts.add("Drift, first to last third", percent_text(row, "third_drift"));
  facts.add("Wait for an instance, mean", duration_or_missing(row, "instance_wait_ns_mean"));
  if (number_at(row, "interpreter_lock_wait_ns_mean")) {
    facts.add("Wait for the interpreter's lock, mean",
              duration_or_missing(row, "interpreter_lock_wait_ns_mean"));
  }
  facts.add("Data type conversion, mean", duration_or_missing(row, "conversion_ns_mean"));
  facts.add("Assay's own share", percent_text(row, "harness_share"));
  facts.add("Outputs of this run", outputs_text(row));
  return facts.html();
}

// What disturbed the host, unless the row's own notes say it.
std::string host_remarks(const Json& row) {
  const std::string notes = at(row, "notes").dump(-1, ' ', false, Json::error_handler_t::replace);
  Json remarks = Json::array();
  for (const Json& watch : list_at(row, "host")) {
    for (const Json& noise : list_at(watch, "noise")) {
      const bool said = notes.find(text_of(noise)) != std::string::npos;
      if (!said && std::find(remarks.begin(), remarks.end(), noise) == remarks.end()) {
        remarks.push_back(noise);
      }
    }
  }
  return text_list(remarks, "alert");
}

std::string time_chart(const Json& row, std::size_t index) {
  if (list_at(row, "latency_over_time").empty()) return "";
  return chart(
      "time", index, titled(row, "Latency over time"),
      fmt::format("Mean and largest latency of each slice of the run, {} rounds one after "
                  "another; first to last third {}",
                  list_at(row, "rounds").size(),
                  number_at(row, "third_drift") ? format_percent(*number_at(row, "third_drift"))
                                                : "not known"));
}

std::string distribution_chart(const Json& row, std::size_t index) {
  if (list_at(row, "latency_histogram").empty()) return "";
  const Json& latency = at(row, "latency_ns");
  return chart(
      "histogram", index, titled(row, "Distribution of latencies"),
      fmt::format("How often each latency occurred; half the calls took at most {}, the "
                  "slowest {}",
                  duration_or_missing(latency, "p50"), duration_or_missing(latency, "max")));
}

std::string row_details(const Json& row, std::size_t index) {
  std::string html =
      fmt::format("<h3>Batch size {}, {} {} {}</h3>\n", count_or_missing(row, "batch_size"),
                  count_or_missing(row, "clients"),
                  number_at(row, "clients") == 1.0 ? "client" : "clients", standing_badges(row));
  html += text_list(list_at(row, "reasons"), "alert bad") +
          text_list(list_at(row, "notes"), "alert") + host_remarks(row);
  if (index < kMostCharted) {
    const std::string charts = time_chart(row, index) + distribution_chart(row, index);
    if (!charts.empty()) html += element("div", "\n" + charts, "charts") + "\n";
  }
  html += row_facts(row);
  if (const std::string command = string_at(row, "command"); !command.empty()) {
    html += paragraph("To repeat this row:") + command_block(command);
  }
  return element("article", "\n" + html) + "\n";
}

std::string overview_charts(const Json& rows) {
  const auto measured = std::count_if(rows.begin(), rows.end(), [](const Json& row) {
    return number_at(row, "qps").has_value() || number_at(at(row, "latency_ns"), "p50").has_value();
  });
  if (measured == 0) return "";
  return element(
             "div",
             "\n" +
                 chart("rates", 0, titled(rows.front(), "Rate by batch size"),
                       "Samples per second of each row, with its 95 % interval; the table above "
                       "has the figures") +
                 chart("latencies", 0, titled(rows.front(), "Latency by batch size"),
                       "P50 and P99 of each row, with their 95 % intervals; the table above has "
                       "the figures"),
             "charts") +
         "\n";
}

std::string vendor_claims(const Json& result) {
  HtmlTable table("The vendor's claims",
                  {{"Batch", true}, {"Source"}, {"Figure"}, {"QPS, of Assay's own"}, {"Remark"}});
  for (const Json& claim : list_at(result, "vendor_claim")) {
    const auto ratio = number_at(claim, "qps_ratio");
    table.add_row({text_or_missing(claim, "batch_size"), escape_html(string_at(claim, "source")),
                   escape_html(text_or_missing(claim, "values")),
                   ratio ? format_number(*ratio) + " times" : std::string(kMissing),
                   text_list(list_at(claim, "notes"))});
  }
  if (table.empty()) return "";
  return "<h3>The vendor's own claim</h3>\n" +
         paragraph("What the backend says of itself. Assay did not measure these figures.") +
         table.compact().html();
}

std::string harness_text(const Json& result) {
  const Json& harness = at(result, "harness");
  const auto overhead = number_at(harness, "overhead_ns_p50");
  if (!overhead) return "";
  return paragraph(fmt::format(
      "Assay's own cost, measured on a backend that does nothing: {} per call, of which "
      "{} are inside a latency.",
      format_duration_ns(*overhead, 3), duration_or_missing(harness, "stamped_ns_p50", 3)));
}

}  // namespace

std::string performance_section(const Json& result) {
  const Json& rows = list_at(result, "performance");
  if (rows.empty()) {
    return section(
        "performance", "Performance",
        paragraph("No row was measured; the phases below say why.") + vendor_claims(result));
  }
  std::string html = modelled_part(result);
  html += paragraph(
      "Each client submits a batch, waits for it and submits the next. QPS counts samples, latency "
      "is of a batch. Below a figure stands its 95 % interval, or how large the percentile is at "
      "most with 99 % confidence.",
      "lead");
  if (const std::string region = string_at(at(result, "provenance"), "timed_region");
      !region.empty()) {
    html += paragraph("Timed: " + region + ".");
  }
  html += rows_table(rows) + overview_charts(rows) + harness_text(result);
  for (std::size_t i = 0; i < rows.size(); ++i) html += row_details(rows[i], i);
  return section("performance", "Performance", html + vendor_claims(result));
}

}  // namespace assay::report
