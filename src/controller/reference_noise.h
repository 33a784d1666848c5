#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "check/noise_floor.h"
#include "controller/phase.h"
#include "controller/reference.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "model/onnx_rounding.h"

namespace assay::controller {

// How far the reference's outputs move when it is run in ways that must not matter, and with the
// rounding of the precision that a backend executed in. Source: measurement.md, Numeric difference;
// the derivation stands in docs/reference/noise-floor.md.
struct NoiseRequest {
  ReferenceRequest reference;
  bool quantized = false;  // the reference has quantise nodes: optimising changes what it means
  std::string precision;   // declared: "FP32", "INT8+FP32"; the coarsest counts
  std::uint64_t seed = 0;
  std::filesystem::path work_folder;  // made and removed again
};

// One entry for each output of the reference. Runs the CPU backend once for each variation; kept in
// the cache of references under everything that it depends on.
Result<std::vector<check::NoiseFloor>> measure_noise(const SessionSettings& settings,
                                                     const NoiseRequest& request,
                                                     RunObserver& observer);

// Rounding that stands for computing in a precision.
struct PrecisionNoise {
  std::string precision;  // "FP16"
  RoundingNoise noise;
};
// Of the coarsest precision that `declared` names (controller/declared_precision.h); nullopt when
// it names none, or one of which we have no bound.
std::optional<PrecisionNoise> noise_of_precision(std::string_view declared);

// `count` of the first `of` samples, evenly spread and in their order: data is often sorted by
// class, and the first few are then alike. 1 <= count <= of. Borrows `dataset`.
std::unique_ptr<dataset::Dataset> evenly_chosen(const dataset::Dataset& dataset, std::uint64_t of,
                                                std::uint64_t count);

// The samples of `dataset` with every FLOAT32 element that is neither 0 nor infinite moved by one
// unit in the last place, up or down by `seed`. Null when no input is FLOAT32. Borrows `dataset`.
std::unique_ptr<dataset::Dataset> moved_by_a_unit(const dataset::Dataset& dataset,
                                                  std::uint64_t seed);

}  // namespace assay::controller
