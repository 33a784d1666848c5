#pragma once

// What the kernel's control groups say of this process; version 2, and the memory part of version
// 1. `root` is "/" but in tests. A limit is the tightest of the process's group and those around
// it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace assay {

// The group of this process and those around it, nearest first, as folders with the files of the
// memory controller. Empty where there are none.
std::vector<std::filesystem::path> memory_cgroups(const std::filesystem::path& root = "/");

// The tightest memory limit of these groups; none: no limit.
std::optional<std::int64_t> cgroup_memory_limit_bytes(const std::filesystem::path& root = "/");

// Processors that version 2's cpu.max lets these groups use on average, 1.5 for a quota of 150 ms
// each 100 ms; none: no limit.
std::optional<double> cgroup_cpu_quota_cores(const std::filesystem::path& root = "/");

// Processes of this group that the kernel killed for memory so far; 0 where that cannot be read.
std::int64_t cgroup_oom_kills(const std::filesystem::path& root = "/");

}  // namespace assay
