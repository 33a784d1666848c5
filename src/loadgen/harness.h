#pragma once

// What the harness itself costs, measured on a target that does nothing.

#include <cstdint>

#include "base/json.h"
#include "base/result.h"
#include "loadgen/target.h"

namespace assay::loadgen {

struct HarnessOverhead {
  double overhead_ns_p50 = 0;    // per query: median over rounds of window / queries
  double stamped_ns_p50 = 0;     // the part of it that a latency contains
  double clock_read_ns_p50 = 0;  // one reading of the clock
  std::uint64_t queries = 0;
};

// Runs the closed loop with one client on `null_target` (one that returns at once; the worker
// passes the null backend), about 50 ms. Errors as run_closed_loop, and what the target returned.
Result<HarnessOverhead> measure_harness(Target& null_target);

// The `harness` object of result.json.
Json to_json(const HarnessOverhead& overhead);

// A target that does nothing.
class NullTarget : public Target {
 public:
  Status issue(std::uint32_t, std::uint64_t) override { return {}; }
};

// Cost of one reading of CLOCK_MONOTONIC over `reads` of them, ns.
double clock_read_cost_ns(std::uint32_t reads = 10'000);

}  // namespace assay::loadgen
