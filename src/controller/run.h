#pragma once

#include <atomic>
#include <filesystem>

#include "base/json_value.h"
#include "base/result.h"
#include "controller/installation.h"
#include "controller/phase.h"
#include "workload/interact_profile.h"
#include "workload/plan.h"

namespace assay::controller {

// Exit codes of `assay run` (formats.md).
enum ExitCode : int {
  kExitMet = 0,          // all criteria met, or undecided without --strict
  kExitNotMet = 1,       // a criterion not met
  kExitBadInput = 2,     // nothing was run
  kExitPhaseFailed = 3,  // crash, time-out, refused
  kExitInternal = 4,     // our bug
  kExitInterrupted = 130,
};

struct RunSummary {
  int exit_code = kExitMet;
  std::filesystem::path result_path;  // empty when it could not be written: `warnings` says why
  std::filesystem::path report_path;  // likewise
  JsonValue result;
};

// Everything that a run may use besides its request.
struct RunEnvironment {
  Installation installation;
  RunObserver* observer = nullptr;              // never null
  const std::atomic<bool>* stop = nullptr;      // set when the user interrupts; never null
  workload::DialogProvider* dialogs = nullptr;  // null: nobody is asked
};

// Plans and runs one evaluation and writes result.json and report.html, also when phases fail,
// crash or hang, and when the user interrupts. An error Status means bad input: nothing was run and
// nothing is left behind. Call from the main thread.
Result<RunSummary> run(const workload::RunRequest& request, const RunEnvironment& environment);

}  // namespace assay::controller
