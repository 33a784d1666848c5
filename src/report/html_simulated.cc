#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

constexpr std::size_t kMostOperators = 12;

const Json& modelled(const Json& result) {
  return at(at(at(result, "compile"), "declared"), "modelled");
}

std::string figures_table(const Json& estimate) {
  HtmlTable table("What the model estimates of the device", {{"Estimate"}, {"Modelled", true}});
  for (const Json& figure : list_at(estimate, "figures")) {
    table.add_row({escape_html(string_at(figure, "name")), escape_html(estimate_text(figure))});
  }
  return table.empty() ? "" : table.html();
}

std::string operators_table(const Json& estimate) {
  HtmlTable table("Operators with the most modelled cycles",
                  {{"Operator"}, {"Type"}, {"Cycles", true}, {"Share", true}});
  const Json& operators = list_at(estimate, "operators");
  for (std::size_t i = 0; i < operators.size() && i < kMostOperators; ++i) {
    const auto share = number_at(operators[i], "share");
    table.add_row({escape_html(string_at(operators[i], "name")),
                   escape_html(string_at(operators[i], "op")),
                   number_or_missing(operators[i], "cycles", 5),
                   share ? format_percent(*share, 1) : std::string(kMissing)});
  }
  return table.empty() ? "" : table.html();
}

}  // namespace

std::string simulated_notice(const Json& result) {
  if (!bool_at(result, "simulated")) return "";
  return element("div",
                 "\n<h3>Simulated</h3>\n" +
                     paragraph(fmt::format(
                         "No {} ran. A model of it did, on this host: accuracy and numerics are "
                         "those of the model, times are those of the simulation and say nothing "
                         "about the device.",
                         string_at(result, "hardware_type"))),
                 "notice caution") +
         "\n";
}

std::string modelled_part(const Json& result) {
  if (!bool_at(result, "simulated")) return "";
  const Json& estimate = modelled(result);
  std::string html;
  if (estimate.is_object()) {
    html = "<h3>Modelled: " + escape_html(string_at(estimate, "device")) + "</h3>\n" +
           paragraph("Estimated, not measured. " + string_at(estimate, "checked_against")) +
           figures_table(estimate) + operators_table(estimate);
  }
  return html + "<h3>The simulation on this host</h3>\n" +
         paragraph("What follows is how fast the simulation ran, not the device.");
}

}  // namespace assay::report
