#pragma once

// The parts of the page, in its order. Each takes the whole result and gives a <section>.

#include <string>

#include "base/json.h"

namespace assay::report {

std::string verdict_section(const Json& result);
std::string accuracy_section(const Json& result);
std::string numeric_section(const Json& result);
// Of the numeric section: what the probe of the pipeline tried. "" when it tried nothing.
std::string pipeline_part(const Json& pipeline);
// Of a run on a model of a device: what ran, for the verdict; and what the model estimates of the
// device, for performance. "" for any other.
std::string simulated_notice(const Json& result);
std::string modelled_part(const Json& result);
std::string performance_section(const Json& result);
std::string stability_section(const Json& result);
std::string compile_section(const Json& result);
std::string phases_section(const Json& result);
std::string questions_section(const Json& result);
std::string provenance_section(const Json& result);
std::string repeat_section(const Json& result);
std::string terms_section();

// What the charts are drawn from: {performance: [...], numeric: [...]}. Its size is bounded,
// whatever the result holds: histograms are merged and series thinned.
Json chart_data(const Json& result);

// Only so many rows and outputs have charts of their own; the tables hold all of them.
inline constexpr std::size_t kMostCharted = 24;

}  // namespace assay::report
