#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "check/stability.h"

namespace assay::check {
namespace {

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const OutputDifference& output) {
  return Json{{"max_abs", finite_or_null(output.max_abs)},
              {"max_ulps", finite_or_null(output.max_ulps)},
              {"nonfinite", output.nonfinite}};
}

Json to_json(const RowDifference& row) {
  return Json{{"call", row.call}, {"slot", row.slot}, {"row", row.row}, {"output", row.output}};
}

double number_or_infinity(const Json& json) {
  return json.is_null() ? HUGE_VAL : json.get<double>();
}

CallDifferences parse(const Json& json) {
  CallDifferences result;
  result.calls = json.at("calls").get<std::uint64_t>();
  result.differing = json.at("differing").get<std::uint64_t>();
  result.label_flips = json.at("label_flips").get<std::uint64_t>();
  result.inputs_changed = json.at("inputs_changed").get<std::uint64_t>();
  result.as_previous = json.at("as_previous").get<std::uint64_t>();
  result.as_first = json.at("as_first").get<std::uint64_t>();
  result.as_other = json.at("as_other").get<std::uint64_t>();
  result.unwritten = json.at("unwritten").get<std::uint64_t>();
  result.shape_changes = json.at("shape_changes").get<std::uint64_t>();
  if (const Json& first = json.at("first_differing"); !first.is_null()) {
    result.first_differing = first.get<std::uint64_t>();
  }
  result.agreeing_after_first = json.at("agreeing_after_first").get<std::uint64_t>();
  for (const Json& output : json.at("outputs")) {
    result.outputs.push_back({number_or_infinity(output.at("max_abs")),
                              number_or_infinity(output.at("max_ulps")),
                              output.at("nonfinite").get<std::uint64_t>()});
  }
  for (const Json& row : json.at("rows")) {
    result.rows.push_back({row.at("call").get<std::uint64_t>(), row.at("slot").get<std::uint64_t>(),
                           row.at("row").get<std::uint64_t>(),
                           row.at("output").get<std::uint64_t>()});
  }
  result.call_crcs = json.at("call_crcs").get<std::vector<std::uint32_t>>();
  return result;
}

}  // namespace

Json to_json(const CallDifferences& differences) {
  Json outputs = Json::array();
  for (const OutputDifference& output : differences.outputs) outputs.push_back(to_json(output));
  Json rows = Json::array();
  for (const RowDifference& row : differences.rows) rows.push_back(to_json(row));
  return Json{{"calls", differences.calls},
              {"differing", differences.differing},
              {"label_flips", differences.label_flips},
              {"inputs_changed", differences.inputs_changed},
              {"as_previous", differences.as_previous},
              {"as_first", differences.as_first},
              {"as_other", differences.as_other},
              {"unwritten", differences.unwritten},
              {"shape_changes", differences.shape_changes},
              {"first_differing",
               differences.first_differing ? Json(*differences.first_differing) : Json(nullptr)},
              {"agreeing_after_first", differences.agreeing_after_first},
              {"outputs", outputs},
              {"rows", rows},
              {"call_crcs", differences.call_crcs}};
}

Result<CallDifferences> call_differences_from_json(const Json& json) {
  try {
    return parse(json);
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("counted differences: {}", error.what()));
  }
}

}  // namespace assay::check
