#pragma once

#include <cstdint>

#include "base/json.h"
#include "controller/performance.h"

namespace assay::controller {

// Repeated input is run for this part of the time of unique input.
inline constexpr std::uint64_t kRepeatShare = 4;

// How many rounds a row has to begin with. With exact_iterations no more than each client has
// iterations, so that the rounds together make exactly that many.
int rounds_of(const PerformanceRequest& request);

// The load of round `number`, as the worker's `measure` takes it. `repeat`: of the shorter run with
// repeated input.
Json round_arguments(const PerformanceRequest& request, int number, bool repeat);

}  // namespace assay::controller
