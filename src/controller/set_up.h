#pragma once

#include <atomic>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"
#include "controller/evaluation_run.h"
#include "controller/run.h"
#include "workload/plan.h"

namespace assay::controller {

// Decides all that a request leaves open, before any worker starts: the plan, the backend, the
// data. Errors are bad input; nothing is written but the output folder, to see that it can be.
Result<Setup> set_up(const workload::RunRequest& request, const RunEnvironment& environment);

// Where the backend under test is looked for. What --backend_path names is not looked at for
// anything else: a folder of published backends has a CPU of its own, which is no reference.
Result<std::vector<std::filesystem::path>> search_paths(const workload::RunRequest& request,
                                                        const Installation& installation);

// How workers are started; where they log is the caller's to say. `stop` outlives them; without a
// timeout each call has its own default.
SessionSettings session_settings(const Installation& installation, const std::atomic<bool>& stop,
                                 std::optional<double> timeout_s);

// The same for those of a request.
SessionSettings session_settings(const workload::RunRequest& request,
                                 const RunEnvironment& environment);

}  // namespace assay::controller
