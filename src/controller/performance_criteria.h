#pragma once

// The criteria of a workload that bound the figures of its rows. Pure.

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "controller/records.h"
#include "workload/workload.h"

namespace assay::controller {

// One criterion per latency bound and one for min_qps, in that order; none when the workload names
// none. `rows` is result.json's `performance`; `batch_sizes` are the rows that were asked for.
//   fail          a valid row's figure is beyond the bound, on a host that was not disturbed
//   inconclusive  a row is missing, not valid or has its percentile withheld; a noisy row is beyond
//                 the bound; or the bound lies between the figure and its confidence bound
//   pass          every row is within the bound, its confidence bound included
std::vector<Criterion> judge_named_bounds(const workload::Criteria& criteria, const Json& rows,
                                          const std::vector<std::int64_t>& batch_sizes);

}  // namespace assay::controller
