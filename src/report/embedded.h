#pragma once

// Files that are part of the program, byte for byte; the build makes the definitions.

#include <string_view>

namespace assay::report::embedded {

// NOLINTBEGIN(readability-identifier-naming): named as the files
extern const std::string_view result_schema_json;  // schemas/result.schema.json
extern const std::string_view report_css;          // assets/report.css
extern const std::string_view report_js;           // assets/report.js
extern const std::string_view uPlot_min_css;       // the chart library
extern const std::string_view uPlot_iife_min_js;
extern const std::string_view LICENSE;  // of the chart library
// NOLINTEND(readability-identifier-naming)

}  // namespace assay::report::embedded
