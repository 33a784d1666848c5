#pragma once

#include <cstdint>

#include "base/status.h"

namespace assay::loadgen {

// Query numbers of calls that are not part of the measured window (cold call, warm-up, lead-in)
// start here; those of the window count from 0, each number used once.
inline constexpr std::uint64_t kUntimedQueryBase = std::uint64_t{1} << 62;

// What the load generator loads: one query is one batch, submitted and waited for.
class Target {
 public:
  virtual ~Target() = default;

  // Runs query `query` for client `client` (0-based) and returns when its outputs are in host
  // memory. The time from entry to return is the query's latency, so whatever is done here is
  // measured: no copy for later checks, no log, no allocation that the product path would not make.
  // Which input a query uses is the target's business; QueryOrder gives the seeded answer.
  // A returned error makes the row invalid; its first code and text per client are kept.
  // Must not throw. Thread rule: called by all clients at the same time, by each one call at a
  // time.
  virtual Status issue(std::uint32_t client, std::uint64_t query) = 0;
};

}  // namespace assay::loadgen
