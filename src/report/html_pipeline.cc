#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

std::string share(const Json& hypothesis, std::string_view key) {
  const auto value = number_at(hypothesis, key);
  return value ? format_percent(*value) : std::string(kMissing);
}

std::string tried_table(const Json& pipeline) {
  HtmlTable table("Pipelines that were tried", {{"Hypothesis"},
                                                {"Difference without", true},
                                                {"Difference with", true},
                                                {"Samples nearer", true},
                                                {"Same best class", true},
                                                {"Restores agreement"}});
  for (const Json& each : list_at(pipeline, "hypotheses")) {
    const bool restores = bool_at(each, "restores");
    const bool named = string_at(each, "name") == string_at(pipeline, "looks_like");
    table.add_row(
        {figure_with_note(escape_html(string_at(each, "name")), string_at(each, "sentence")),
         number_or_missing(each, "difference_before", 3),
         number_or_missing(each, "difference_after", 3), share(each, "nearer_samples"),
         share(each, "top1_agreement_after"),
         named      ? "yes, best"
         : restores ? "yes"
                    : "no"});
  }
  return table.html();
}

}  // namespace

std::string pipeline_part(const Json& pipeline) {
  if (list_at(pipeline, "hypotheses").empty()) return "";
  const std::string sentence = string_at(pipeline, "sentence");
  std::string html = element("h3", "What kind of difference") + "\n";
  if (sentence.empty()) {
    html += paragraph(
        "No wrong pipeline that was tried accounts for the difference: neither the way in which "
        "inputs are prepared nor the one in which outputs are read.");
  } else {
    html += paragraph(words(sentence) + ".", "alert");
  }
  std::string tried = paragraph(fmt::format(
      "The reference was given {} samples as each pipeline would feed them, or its answers were "
      "read as it would, and held against what the backend gave. A difference of 0 is agreement, "
      "of 1 no better than one answer for every input.",
      count_or_missing(pipeline, "samples")));
  tried += tried_table(pipeline);
  if (sentence.empty()) {
    tried = "<details>\n<summary>What was tried</summary>\n" + tried + "</details>\n";
  }
  return element("article", "\n" + html + tried) + "\n";
}

}  // namespace assay::report
