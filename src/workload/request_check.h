#pragma once

// What can be said of a request before any file of a task is read.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "workload/plan.h"

namespace assay::workload {

// Bounds of what a run may be asked for, the same as in workload.schema.json.
inline constexpr std::int64_t kMostClients = 4096;  // a thread each
inline constexpr std::int64_t kMostIterations = 1'000'000'000;
inline constexpr double kLeastSeconds = 0.001;
inline constexpr double kMostCpuSeconds = 1e8;
inline constexpr double kLeastGigabytes = 0.001;
inline constexpr double kMostGigabytes = 1e6;
inline constexpr double kMostSeconds = 86'400;  // a day

// Numbers, the form of answers, and the hardware type; one error per problem.
std::vector<Status> check_request(const RunRequest& request,
                                  const std::vector<std::string>& hardware_types);

// That the output folder holds no result and is no file. Makes nothing.
Status check_output_is_free(const RunRequest& request);

// " (did you mean ...?)" with the nearest names, three at most, or the list of all when none is
// near. `what`: "tasks".
std::string nearest_or_all(const std::string& word, const std::vector<std::string>& names,
                           std::string_view what);

}  // namespace assay::workload
