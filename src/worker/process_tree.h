#pragma once

// Processes and their descendants, as /proc shows them.

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace assay::worker {

// CPU time and resident memory of a live process; zeros when it is gone.
struct ProcessUsage {
  std::int64_t cpu_ns = 0;           // its own
  std::int64_t children_cpu_ns = 0;  // of children that ended, and theirs
  std::int64_t rss_bytes = 0;
};
ProcessUsage usage_of(pid_t pid);

// The most resident memory that a live process has held since it began, or since reset_peak_rss was
// last called where the kernel allows that; 0 when it is gone.
std::int64_t peak_rss_of(pid_t pid);
void reset_peak_rss(pid_t pid);

// The children of a process, ended ones that wait to be reaped among them. Empty where the kernel
// does not tell. Children that come or go meanwhile may be missed.
std::vector<pid_t> children_of(pid_t pid);

// Adds the children of those in `pids`, and theirs, and so on.
void add_descendants(std::vector<pid_t>& pids);

// CPU time of these processes and of children of theirs that have ended.
std::int64_t cpu_ns_of(const std::vector<pid_t>& pids);

// Memory that these processes hold together. Pages that they share are counted once, when it
// matters: when the plain sum is above `limit_bytes`.
std::int64_t resident_bytes_of(const std::vector<pid_t>& pids, std::int64_t limit_bytes);

}  // namespace assay::worker
