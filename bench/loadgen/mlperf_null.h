#pragma once

#include <cstdint>
#include <string>

namespace assay::bench {

// MLPerf LoadGen, SingleStream, on a system under test that completes each query at once: time per
// query, from the first to the last issue, over `queries` of them. Its logs go to `log_folder`.
// Not thread-safe: its logger is one per process.
double mlperf_ns_per_query(std::uint64_t queries, const std::string& log_folder);

}  // namespace assay::bench
