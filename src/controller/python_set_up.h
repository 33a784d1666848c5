#pragma once

#include <filesystem>

#include "base/result.h"
#include "controller/python_environment.h"
#include "controller/python_worker.h"
#include "controller/run.h"
#include "host/manifest.h"
#include "workload/plan.h"

namespace assay::controller {

struct PythonSetUp {
  PythonWorker worker;
  PythonEnvironment environment;
};

// The interpreter of a Python backend and how its workers are started; an environment is made when
// there is none yet. `folder` is the run's own, existing: logs go there, and workers run in a
// folder below it. Errors are bad input, or kCancelled.
Result<PythonSetUp> set_up_python(const workload::RunRequest& request,
                                  const host::Manifest& manifest, const RunEnvironment& environment,
                                  const std::filesystem::path& folder);

// Refuses options that only a Python backend has when this is none.
Status check_python_options(const workload::RunRequest& request, const host::Manifest& manifest);

// A hash over what is the backend's own: its library, or all files of its Python folder and the
// packages that it runs on.
Result<std::string> backend_hash(const host::Manifest& manifest,
                                 const PythonEnvironment* environment);

}  // namespace assay::controller
