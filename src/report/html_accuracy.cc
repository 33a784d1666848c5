#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

std::string interval_text(std::string_view metric, const Json& interval) {
  if (interval.size() != 2 || !interval[0].is_number() || !interval[1].is_number()) return "";
  return fmt::format("{} to {}", format_metric(metric, interval[0].get<double>()),
                     format_metric(metric, interval[1].get<double>()));
}

std::string accuracy_sentence(const Json& accuracy) {
  const std::string metric = string_at(accuracy, "metric");
  const std::string interval = interval_text(metric, list_at(accuracy, "interval"));
  std::string text = fmt::format("{} is {} over {} samples", metric_name(metric),
                                 format_metric(metric, number_at(accuracy, "value")),
                                 count_or_missing(accuracy, "n"));
  if (!interval.empty()) {
    text +=
        fmt::format("; over all samples like these it lies between {} (95 % interval)", interval);
    const std::size_t to = text.rfind(" to ");
    text.replace(to, 4, " and ");
  }
  return text + ".";
}

std::string metrics_table(const Json& accuracy) {
  HtmlTable table("Accuracy by metric, with its interval and the reference's value",
                  {{"Metric"}, {"Value", true}, {"95 % interval", true}, {"Reference", true}});
  const auto row = [&](const std::string& metric, std::optional<double> value,
                       std::string_view interval, std::optional<double> reference,
                       std::string_view reference_interval) {
    table.add_row(
        {escape_html(metric_name(metric)), escape_html(format_metric(metric, value)),
         escape_html(interval.empty() ? kMissing : interval),
         figure_with_note(escape_html(format_metric(metric, reference)), reference_interval)});
  };
  const std::string metric = string_at(accuracy, "metric");
  row(metric, number_at(accuracy, "value"), interval_text(metric, list_at(accuracy, "interval")),
      number_at(accuracy, "reference_value"),
      interval_text(metric, list_at(accuracy, "reference_interval")));
  const Json& extra = at(accuracy, "extra");
  if (!extra.is_object()) return table.compact().html();
  for (const auto& other : extra.items()) {
    row(other.key(), number_at(extra, other.key()), "",
        number_at(at(accuracy, "reference_extra"), other.key()), "");
  }
  return table.compact().html();
}

constexpr std::string_view kScoreTest =
    "z is how many standard errors the share of right answers lies above the share wanted of the "
    "reference, counted on the same samples: from 1.645 up the criterion is met and from -1.645 "
    "down it is not, each with 95 % confidence; between the two these samples cannot decide.";

std::string judged_table(const Json& accuracy) {
  HtmlTable table("How accuracy was judged", {{"Criterion"}, {"Verdict"}, {"Because"}});
  bool has_score = false;
  for (const Json& item : list_at(accuracy, "judged")) {
    has_score = has_score || string_at(item, "reason").find("; z = ") != std::string::npos;
    std::string note = string_at(item, "method");
    if (const auto needed = number_at(item, "samples_needed")) {
      note += fmt::format("{}about {} samples would decide it", note.empty() ? "" : "; ",
                          format_count(static_cast<std::int64_t>(*needed)));
    }
    table.add_row(
        {escape_html(string_at(item, "criterion")), badge(string_at(item, "verdict")),
         figure_with_note(escape_html(with_separators(string_at(item, "reason"))), note)});
  }
  if (table.empty()) return "";
  return table.html() + (has_score ? paragraph(std::string(kScoreTest)) : "");
}

// What a reader of an accuracy figure has to know about the samples.
std::string accuracy_facts(const Json& accuracy) {
  FactList facts;
  facts.add("Data set", text_or_missing(accuracy, "dataset"));
  facts.add("Samples", count_or_missing(accuracy, "n"));
  if (const auto percent = number_at(accuracy, "data_percent")) {
    facts.add("Share of the data set", format_number(*percent) + " %");
  }
  facts.add("Interval", text_or_missing(accuracy, "interval_method"));
  facts.add("Samples that failed", count_or_missing(accuracy, "failed_samples"));
  facts.add("Samples with a NaN score", count_or_missing(accuracy, "nan_samples"));
  return facts.html();
}

std::string phase_reason(const Json& result, std::string_view name) {
  for (const Json& phase : list_at(result, "phases")) {
    if (string_at(phase, "name") != name) continue;
    const std::string outcome = string_at(phase, "outcome");
    if (outcome == "ok") continue;
    return fmt::format("Not measured: {} ({}).", string_at(phase, "reason"), words(outcome));
  }
  return "Not measured.";
}

std::string ulp_text(const Json& output) {
  const Json& ulp = at(output, "ulp");
  if (!ulp.is_object()) return std::string(kMissing);
  return number_or_missing(ulp, "p99");
}

std::string numeric_table(const Json& outputs) {
  HtmlTable table("Difference from the reference, per output", {{"Output"},
                                                                {"Largest", true},
                                                                {"Mean", true},
                                                                {"RMSE", true},
                                                                {"Largest relative", true},
                                                                {"Cosine", true},
                                                                {"SNR", true},
                                                                {"Last places, P99", true},
                                                                {"NaN or Inf mismatches", true},
                                                                {"Judged"}});
  for (const Json& output : outputs) {
    const auto snr = number_at(output, "snr_db");
    const std::string snr_text = snr                               ? format_number(*snr) + " dB"
                                 : bool_at(output, "snr_infinite") ? "infinite"
                                                                   : std::string(kMissing);
    table.add_row({figure_with_note(escape_html(string_at(output, "output")),
                                    fmt::format("{}, {} values", string_at(output, "dtype"),
                                                count_or_missing(output, "elements"))),
                   number_or_missing(output, "max_abs"), number_or_missing(output, "mean_abs"),
                   number_or_missing(output, "rmse"), number_or_missing(output, "max_rel"),
                   number_or_missing(output, "cosine", 6), escape_html(snr_text), ulp_text(output),
                   count_or_missing(output, "nonfinite_mismatches"),
                   badge(string_at(output, "judged"))});
  }
  return table.html();
}

std::string worst_table(const Json& output) {
  HtmlTable table("Worst samples of " + string_at(output, "output"), {{"Sample", true},
                                                                      {"Element", true},
                                                                      {"Got", true},
                                                                      {"Reference", true},
                                                                      {"Difference", true}});
  for (const Json& worst : list_at(output, "worst")) {
    const bool nonfinite = number_at(worst, "nonfinite_mismatches").value_or(0) > 0;
    table.add_row({text_or_missing(worst, "sample_id"), text_or_missing(worst, "element"),
                   escape_html(text_or_missing(worst, "got")),
                   escape_html(text_or_missing(worst, "reference")),
                   nonfinite ? "not finite on one side" : number_or_missing(worst, "max_abs")});
  }
  return table.empty() ? "" : "<h4>Worst samples</h4>\n" + table.compact().html();
}

std::string share_of_elements(const Json& output, std::string_view key) {
  const auto share = number_at(output, key);
  return share ? format_percent(*share) : std::string(kMissing);
}

std::string placement_text(const Json& output) {
  const std::string placement = string_at(output, "placement");
  if (placement == "identical") return "no difference";
  if (placement == "inside_floor") return "inside the noise floor";
  if (placement == "real_error") return "beyond what rounding explains: a real error";
  const std::string precision = string_at(at(at(output, "noise_floor"), "bound"), "precision");
  if (placement == "inside_precision") return "inside what computing in " + precision + " explains";
  return "not known";
}

// What moved the reference itself, and how far.
std::string noise_table(const Json& output) {
  const Json& floor = at(output, "noise_floor");
  if (!floor.is_object()) return "";
  HtmlTable table("How far the reference moves by what must not matter, over its first " +
                      count_or_missing(floor, "samples") + " samples",
                  {{"What was changed"}, {"Largest difference", true}, {"RMSE", true}});
  const auto add = [&](const Json& list) {
    for (const Json& one : list) {
      table.add_row({escape_html(text_or_missing(one, "name")), number_or_missing(one, "max_abs"),
                     number_or_missing(one, "rmse")});
    }
  };
  add(list_at(floor, "variations"));
  add(list_at(at(floor, "bound"), "draws"));
  table.add_row({"<strong>this backend</strong>", number_or_missing(output, "max_abs"),
                 number_or_missing(output, "rmse")});
  return "<h4>Noise floor</h4>\n" +
         paragraph(fmt::format("Up to {} times the largest of each is allowed.",
                               number_or_missing(floor, "allowance"))) +
         table.compact().html();
}

std::string output_facts(const Json& output) {
  FactList facts;
  facts.add("Values compared", count_or_missing(output, "compared"));
  facts.add("Values that differ", count_or_missing(output, "differing"));
  facts.add("NaN on both sides", count_or_missing(output, "nan_both"));
  facts.add("Standard deviation", number_or_missing(output, "std_abs"));
  facts.add("Bias (mean signed)", number_or_missing(output, "mean_signed"));
  facts.add("Mean relative", number_or_missing(output, "mean_rel"));
  facts.add("Relative where |reference| is at least", number_or_missing(output, "atol"));
  facts.add("Outside tolerance", share_of_elements(output, "outside_tolerance"));
  facts.add("Where it lies", placement_text(output));
  facts.add("Lowest cosine of a sample", number_or_missing(output, "min_sample_cosine", 6));
  facts.add("Same best class", share_of_elements(output, "top1_agreement"));
  facts.add("Same five best classes", share_of_elements(output, "top5_agreement"));
  const Json& ulp = at(output, "ulp");
  if (ulp.is_object()) {
    facts.add("Last places of " + string_at(ulp, "unit"),
              fmt::format("median {}, P99 {}, largest {}", number_or_missing(ulp, "p50"),
                          number_or_missing(ulp, "p99"), number_or_missing(ulp, "max")));
  }
  return facts.html();
}

std::string difference_charts(const Json& output, std::size_t index) {
  const Json& absolute = at(at(output, "histograms"), "abs_difference");
  const Json& with_sign = at(at(output, "histograms"), "signed_difference");
  std::string html;
  if (!list_at(with_sign, "counts").empty()) {
    html += chart("signed", index, "Differences with their sign",
                  fmt::format("Share of values by got less reference; bias {}, standard deviation "
                              "of the size {}",
                              number_or_missing(output, "mean_signed"),
                              number_or_missing(output, "std_abs")));
  }
  if (!list_at(absolute, "counts").empty()) {
    html += chart(
        "magnitude", index, "Differences by size",
        fmt::format("Share of values by |got less reference|, each bar twice the size of "
                    "the one before; mean {}, largest {}, {} values are equal",
                    number_or_missing(output, "mean_abs"), number_or_missing(output, "max_abs"),
                    count_or_missing(absolute, "zeros")));
  }
  return html.empty() ? "" : element("div", "\n" + html, "charts") + "\n";
}

std::string output_details(const Json& output, std::size_t index) {
  std::string html = element("h3", escape_html("Output " + string_at(output, "output"))) + "\n";
  if (const std::string reason = string_at(output, "reason"); !reason.empty()) {
    html += paragraph(sentence(reason) + ".");
  }
  if (bool_at(output, "identical")) {
    html += paragraph("Every value equals the reference's.");
  } else if (index < kMostCharted) {
    html += difference_charts(output, index);
  }
  return element("article",
                 "\n" + html + output_facts(output) + noise_table(output) + worst_table(output)) +
         "\n";
}

}  // namespace

std::string accuracy_section(const Json& result) {
  const Json& accuracy = at(result, "accuracy");
  if (!accuracy.is_object()) {
    return section("accuracy", "Accuracy", paragraph(phase_reason(result, "accuracy")));
  }
  std::string html = paragraph(accuracy_sentence(accuracy), "lead");
  if (bool_at(accuracy, "calibrated_on_evaluation_data")) {
    html += paragraph(
        "Calibrated on evaluation data: the backend saw samples of this evaluation "
        "while it compiled, so the figure flatters it.",
        "alert");
  }
  if (const std::string note = string_at(accuracy, "note"); !note.empty()) {
    html += paragraph(sentence(note) + ".");
  }
  html += metrics_table(accuracy) + judged_table(accuracy) + accuracy_facts(accuracy);
  return section("accuracy", "Accuracy", html);
}

std::string numeric_section(const Json& result) {
  const Json& outputs = list_at(result, "numeric");
  if (outputs.empty()) {
    return section("numeric", "Numeric difference", paragraph(phase_reason(result, "numeric")));
  }
  const Json& reference = at(at(result, "provenance"), "reference");
  std::string lead = "Outputs held against the reference, sample by sample";
  if (reference.is_object()) {
    lead += fmt::format(": {} on {}, executed in {}", text_or_missing(reference, "model"),
                        text_or_missing(reference, "name"),
                        text_or_missing(reference, "executed_precision"));
  }
  std::string html = paragraph(lead + ".", "lead");
  if (bool_at(result, "self_comparison")) {
    html += paragraph("Self-comparison: hardware under test and reference are the same runtime.",
                      "alert");
  }
  html += pipeline_part(at(result, "pipeline")) + numeric_table(outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) html += output_details(outputs[i], i);
  return section("numeric", "Numeric difference", html);
}

}  // namespace assay::report
