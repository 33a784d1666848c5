#pragma once

// report.html: one file that needs nothing else, drawn from result.json alone.

#include <string>
#include <string_view>

#include "base/json.h"

namespace assay::report {

// What is inlined. default_assets() has this build's own; a test gives stand-ins.
struct HtmlAssets {
  std::string_view style;          // CSS of the page
  std::string_view script;         // draws the charts
  std::string_view chart_style;    // of the chart library
  std::string_view chart_script;   // the chart library
  std::string_view chart_licence;  // its notice, which goes with it; plain text
};
const HtmlAssets& default_assets();

// The page. A pure function: no clock, no file, no environment. All text is in the markup; scripts
// only draw charts. Whatever stands in `result` (names with markup in them among it) stays text.
// `result` satisfies the schema (validate_result); what it lacks is said to be missing.
std::string render_html(const Json& result, const HtmlAssets& assets = default_assets());

}  // namespace assay::report
