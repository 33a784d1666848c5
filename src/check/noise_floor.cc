#include "check/noise_floor.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tensor/dtype.h"

namespace assay::check {
namespace {

bool inside(const NumericResult& result, const NoiseLevel& level) {
  return result.max_abs.value_or(0.0) <= kNoiseAllowance * level.max_abs &&
         result.rmse.value_or(0.0) <= kNoiseAllowance * level.rmse;
}

Json to_json(const std::vector<NoiseVariation>& variations) {
  Json list = Json::array();
  for (const NoiseVariation& one : variations) {
    list.push_back({{"name", one.name}, {"max_abs", one.level.max_abs}, {"rmse", one.level.rmse}});
  }
  return list;
}

std::vector<NoiseVariation> variations_from(const Json& json) {
  std::vector<NoiseVariation> variations;
  for (const Json& one : json) {
    variations.push_back({one.at("name").get<std::string>(),
                          {one.at("max_abs").get<double>(), one.at("rmse").get<double>()}});
  }
  return variations;
}

}  // namespace

NoiseLevel largest(const std::vector<NoiseVariation>& variations) {
  NoiseLevel most;
  for (const NoiseVariation& one : variations) {
    most.max_abs = std::max(most.max_abs, one.level.max_abs);
    most.rmse = std::max(most.rmse, one.level.rmse);
  }
  return most;
}

std::string_view name_of(NoisePlacement placement) {
  switch (placement) {
    case NoisePlacement::kIdentical:
      return "identical";
    case NoisePlacement::kInsideFloor:
      return "inside_floor";
    case NoisePlacement::kInsidePrecision:
      return "inside_precision";
    case NoisePlacement::kRealError:
      return "real_error";
    case NoisePlacement::kUnknown:
      break;
  }
  return "unknown";
}

NoisePlacement place(const NumericResult& result, const NoiseFloor* floor) {
  if (result.nonfinite_mismatches > 0) return NoisePlacement::kRealError;
  if (result.identical) return NoisePlacement::kIdentical;
  if (floor == nullptr || result.compared == 0) return NoisePlacement::kUnknown;
  if (inside(result, largest(floor->variations))) return NoisePlacement::kInsideFloor;
  if (!floor->bound) return NoisePlacement::kUnknown;
  if (inside(result, largest(floor->bound->draws))) return NoisePlacement::kInsidePrecision;
  const bool exact = !is_floating(result.dtype);
  return exact ? NoisePlacement::kUnknown : NoisePlacement::kRealError;
}

const NoiseFloor* find_floor(const std::vector<NoiseFloor>& floors, std::string_view output) {
  const auto found = std::ranges::find(floors, output, &NoiseFloor::output);
  return found == floors.end() ? nullptr : &*found;
}

Json to_json(const NoiseFloor& floor) {
  const NoiseLevel most = largest(floor.variations);
  Json json{{"output", floor.output},
            {"samples", floor.samples},
            {"allowance", kNoiseAllowance},
            {"max_abs", most.max_abs},
            {"rmse", most.rmse},
            {"variations", to_json(floor.variations)},
            {"bound", nullptr}};
  if (floor.bound) {
    const NoiseLevel bound = largest(floor.bound->draws);
    json["bound"] = {{"precision", floor.bound->precision},
                     {"max_abs", bound.max_abs},
                     {"rmse", bound.rmse},
                     {"draws", to_json(floor.bound->draws)}};
  }
  return json;
}

Result<NoiseFloor> noise_floor_from_json(const Json& json) {
  try {
    NoiseFloor floor;
    floor.output = json.at("output").get<std::string>();
    floor.samples = json.at("samples").get<std::uint64_t>();
    floor.variations = variations_from(json.at("variations"));
    if (const Json& bound = json.at("bound"); !bound.is_null()) {
      floor.bound = {bound.at("precision").get<std::string>(), variations_from(bound.at("draws"))};
      if (floor.bound->draws.empty()) return data_loss("a noise floor: a bound without draws");
    }
    // None of either would make every difference a real error.
    if (floor.variations.empty()) return data_loss("a noise floor: without variations");
    return floor;
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("a noise floor: {}", error.what()));
  }
}

}  // namespace assay::check
