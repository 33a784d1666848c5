#pragma once

// Where a model's error starts: the first operator of which the outputs leave their tolerance on a
// backend. Found by bisection over cut models, so that any backend will do that compiles models.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/json_value.h"
#include "base/result.h"
#include "controller/run.h"
#include "workload/plan.h"

namespace assay::controller {

struct BisectRequest {
  // Task or model, hardware type, answers, time-out, seed. `output` is where the folder of the
  // finding goes; see `inside_output`.
  workload::RunRequest run;
  bool inside_output = true;  // <output>/bisect-<hash>; else `output` itself
  std::optional<std::string>
      sample;                 // id, or number, of the input; none: the one that is furthest off
  std::uint64_t samples = 8;  // the first so many are looked at for it
};

struct BisectSummary {
  int exit_code = kExitMet;  // kExitNotMet when an operator was found, kExitPhaseFailed when the
                             // model does not compile as a whole
  std::filesystem::path folder;  // with bisect.json, and the minimal model when one was found
  JsonValue result;              // bisect.json
};

// Searches. An error Status is bad input, or kCancelled; nothing is left behind then. Call from the
// main thread.
Result<BisectSummary> bisect(const BisectRequest& request, const RunEnvironment& environment);

struct RepeatRequest {
  std::filesystem::path folder;  // as bisect() left it
  workload::RunRequest run;      // hardware type, answers, time-out
};

// Compiles the minimal model of a finding again and holds its outputs against the reference's that
// lie beside it, by the tolerances found then. kExitNotMet when one still deviates, or the backend
// fails. `result` is {deviates, outcome, reason, tensors}.
Result<BisectSummary> repeat_bisect(const RepeatRequest& request,
                                    const RunEnvironment& environment);

// What either found, for people.
std::string bisect_text(const BisectSummary& summary);
std::string repeat_text(const BisectSummary& summary);

}  // namespace assay::controller
