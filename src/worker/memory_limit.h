#pragma once

#include <cstdint>

namespace assay::worker {

// What a worker and its descendants may hold resident: nine tenths of the machine's memory or of
// its control group's, whichever is less. ASSAY_MEMORY_LIMIT (bytes), which tests set, lowers it.
std::int64_t memory_limit_bytes();

// The rule on given facts; 0 for what is not known.
std::int64_t memory_limit_of(std::int64_t machine_bytes, std::int64_t group_bytes,
                             std::int64_t asked_bytes);

}  // namespace assay::worker
