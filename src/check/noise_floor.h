#pragma once

// Where a backend's error lies: inside what moves the reference's outputs though it must not
// matter, inside what computing in the executed precision explains, or beyond both. How the two are
// derived: docs/reference/noise-floor.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "check/numeric.h"

namespace assay::check {

// How far an output is from the reference's, over all samples.
struct NoiseLevel {
  double max_abs = 0.0;
  double rmse = 0.0;
};

// One run of the reference that was changed, and how far that moved the output.
struct NoiseVariation {
  std::string name;  // "2 threads", "rounding of FLOAT32, seed 1", ...
  NoiseLevel level;
};

// What computing in a precision may do.
struct PrecisionBound {
  std::string precision;              // "FP16"
  std::vector<NoiseVariation> draws;  // of rounding in that precision; never empty
};

// Of one output.
struct NoiseFloor {
  std::string output;
  std::uint64_t samples = 0;  // that everything here ran on
  std::vector<NoiseVariation> variations;
  std::optional<PrecisionBound> bound;
};

// The largest of each figure by itself; zeros when there are none.
NoiseLevel largest(const std::vector<NoiseVariation>& variations);

// Within a few times what so few samples and draws showed at most.
inline constexpr double kNoiseAllowance = 4.0;

enum class NoisePlacement { kUnknown, kIdentical, kInsideFloor, kInsidePrecision, kRealError };
std::string_view name_of(NoisePlacement placement);  // "unknown", "identical", "inside_floor", ...

// Both figures have to be inside: the largest difference sees one wrong element, the RMSE many that
// are each a little off. kUnknown beyond the floor of an integer output, where one rare tie may
// flip; beyond the floor when no bound is known; and without a floor (null).
NoisePlacement place(const NumericResult& result, const NoiseFloor* floor);

// The floor of an output, by name; null when there is none.
const NoiseFloor* find_floor(const std::vector<NoiseFloor>& floors, std::string_view output);

Json to_json(const NoiseFloor& floor);
// kDataLoss when `json` is not what to_json writes.
Result<NoiseFloor> noise_floor_from_json(const Json& json);

}  // namespace assay::check
