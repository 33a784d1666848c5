#pragma once

#include "base/json.h"
#include "controller/records.h"
#include "controller/stability.h"
#include "dataset/dataset.h"
#include "workload/plan.h"

namespace assay::controller {

// The `stability` key of result.json: an object per axis, those that were not tested included.
Json stability_json(const StabilityResult& result, const workload::Plan& plan,
                    const dataset::Dataset& dataset);

// Unstable fails, unless the workload's criteria ask for nothing.
Criterion stability_criterion(const StabilityResult& result, workload::StabilityCriterion wanted);

}  // namespace assay::controller
