#pragma once

// A compiled model and what to ask of it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "drill/case.h"
#include "host/backend.h"

namespace assay::drill {

struct Job {
  host::LoadRequest load;
  // One sample each when `batched`: they are stacked to the batch that is loaded. Else fed as they
  // are. None: inputs are made up from the signature, and what the first call gives is right.
  std::vector<Case> cases;
  bool batched = false;
};

Json to_json(const Job& job);
Result<Job> job_from_json(const Json& json);

// A handle with the job's model loaded.
Result<host::RuntimeBackend> load(const host::Library& library, const Job& job);

// Cases for this handle, with the outputs that are right. At least two.
Result<std::vector<Case>> cases_for(host::RuntimeBackend& runtime, const Job& job);

}  // namespace assay::drill
