#pragma once

#include "base/result.h"
#include "controller/evaluation_run.h"
#include "controller/run.h"
#include "workload/plan.h"

namespace assay::controller {

// Decides all that a request leaves open, before any worker starts: the plan, the backend, the
// data. Errors are bad input; nothing is written but the output folder, to see that it can be.
Result<Setup> set_up(const workload::RunRequest& request, const RunEnvironment& environment);

// How the workers of a request are started; where they log is the caller's to say.
SessionSettings session_settings(const workload::RunRequest& request,
                                 const RunEnvironment& environment);

}  // namespace assay::controller
