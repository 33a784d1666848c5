#pragma once

#include <cstdint>
#include <ctime>

namespace assay {

// CLOCK_MONOTONIC in nanoseconds: the only clock that times anything. Thread-safe; about 20 ns.
inline std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// Wall-clock time as "YYYY-MM-DDTHH:MM:SSZ", for provenance only, never for a duration.
// (A string built here, so that nothing else needs a calendar.)
struct UtcTime {
  char text[24];
};
UtcTime utc_now();

}  // namespace assay
