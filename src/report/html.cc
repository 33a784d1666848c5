#include "report/html.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "report/embedded.h"
#include "report/format.h"
#include "report/html_sections.h"
#include "report/html_writer.h"

namespace assay::report {
namespace {

struct NavigationEntry {
  const char* id;
  const char* title;
};
constexpr std::array<NavigationEntry, 11> kNavigation{{{"verdict", "Verdict"},
                                                       {"accuracy", "Accuracy"},
                                                       {"numeric", "Numeric"},
                                                       {"performance", "Performance"},
                                                       {"stability", "Stability"},
                                                       {"compile", "Compilation"},
                                                       {"phases", "Phases"},
                                                       {"questions", "Questions"},
                                                       {"provenance", "Provenance"},
                                                       {"repeat", "Repeat it"},
                                                       {"terms", "Terms"}}};

// Nothing is fetched: scripts and styles stand in the page, and the browser is told to refuse more.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

// A small mark: a balance, level.
constexpr std::string_view kMark =
    "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\"><path d=\"M12 4v16M8 20h8M4 7h16M4 7l-2.6 "
    "6a2.9 2.9 0 0 0 5.2 0zM20 7l-2.6 6a2.9 2.9 0 0 0 5.2 0z\"/></svg>";

std::string head(const Json& result, const HtmlAssets& assets) {
  return fmt::format(
      "<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"generator\" content=\"Assay {}\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n"
      "<title>{} on {}: {}</title>\n<style>\n{}\n</style>\n<style>\n{}\n</style>\n</head>\n",
      escape_html(string_at(result, "assay_version")), kPolicy,
      escape_html(string_at(result, "task")), escape_html(string_at(result, "hardware_type")),
      escape_html(words(string_at(result, "verdict"))), assets.chart_style, assets.style);
}

// "2026-11-30T10:15:02Z" -> "2026-11-30 10:15 UTC"
std::string shown_time(const std::string& utc) {
  if (utc.size() < 16) return utc;
  return utc.substr(0, 10) + " " + utc.substr(11, 5) + " UTC";
}

std::string masthead(const Json& result) {
  std::string facts = escape_html(string_at(result, "hardware_type"));
  const Json& provenance = at(result, "provenance");
  for (const std::string& fact : {string_at(at(provenance, "backend"), "version"),
                                  string_at(at(provenance, "host"), "cpu_model"),
                                  shown_time(string_at(result, "started_utc"))}) {
    if (!fact.empty()) facts += "<span>" + escape_html(fact) + "</span>";
  }
  std::string links;
  for (const NavigationEntry& entry : kNavigation) {
    links += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", entry.id, entry.title);
  }
  return fmt::format(
      "<header>\n<p class=\"brand\">{}Assay report</p>\n<h1>{}</h1>\n<p class=\"subject\">{}</p>\n"
      "<nav aria-label=\"Sections\">\n<ul>\n{}</ul>\n</nav>\n</header>\n",
      kMark, escape_html(string_at(result, "task")), facts, links);
}

std::string sections(const Json& result) {
  return verdict_section(result) + accuracy_section(result) + numeric_section(result) +
         performance_section(result) + stability_section(result) + compile_section(result) +
         phases_section(result) + questions_section(result) + provenance_section(result) +
         repeat_section(result) + terms_section();
}

std::string scripts(const Json& result, const HtmlAssets& assets) {
  return fmt::format(
      "<!-- uPlot:\n{}\n-->\n<script type=\"application/json\" "
      "id=\"chart-data\">{}</script>\n<script>\n{}\n</script>\n"
      "<script>\n{}\n</script>\n",
      assets.chart_licence, json_for_script(chart_data(result)), assets.chart_script,
      assets.script);
}

}  // namespace

const HtmlAssets& default_assets() {
  static const HtmlAssets assets{embedded::report_css, embedded::report_js, embedded::uPlot_min_css,
                                 embedded::uPlot_iife_min_js, embedded::LICENSE};
  return assets;
}

std::string render_html(const Json& result, const HtmlAssets& assets) {
  std::string page = "<!doctype html>\n<html lang=\"en\">\n";
  page += head(result, assets);
  page +=
      "<body>\n<a class=\"skip\" href=\"#verdict\">Skip to the verdict</a>\n<div class=\"page\">\n";
  page += masthead(result);
  page += "<main>\n" + sections(result) + "</main>\n";
  page += fmt::format(
      "<footer>\n<p>Drawn by Assay {} from result.json, which holds every figure unrounded. "
      "Charts by uPlot (MIT licence).</p>\n</footer>\n</div>\n",
      escape_html(string_at(result, "assay_version")));
  page += scripts(result, assets) + "</body>\n</html>\n";
  return page;
}

}  // namespace assay::report
