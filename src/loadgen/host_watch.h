#pragma once

// What else the host did while a window was open: stolen time, pressure, other load, frequency,
// throttling. A row measured on a disturbed host is marked noisy, never silently kept.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace assay::loadgen {

// The first line of /proc/stat, in clock ticks over all CPUs.
struct CpuTimes {
  std::uint64_t busy_ticks = 0;  // user, nice, system, irq, softirq (guest time is in user)
  std::uint64_t idle_ticks = 0;  // idle, iowait
  std::uint64_t steal_ticks = 0;

  friend bool operator==(const CpuTimes&, const CpuTimes&) = default;
};

// Pure parsers of the kernel's texts; none when the text has not the expected form.
std::optional<CpuTimes> parse_proc_stat(std::string_view text);
std::optional<std::uint64_t> parse_pressure_some_us(std::string_view text);  // total of "some"
std::optional<double> parse_loadavg(std::string_view text);                  // 1 minute
std::optional<std::uint64_t> parse_counter(std::string_view text);           // one number

// One look at the host. What the host does not tell is absent.
struct HostSnapshot {
  std::int64_t at_ns = 0;  // CLOCK_MONOTONIC
  std::uint32_t cpus = 0;  // that this process may run on
  std::optional<CpuTimes> cpu;
  std::optional<std::int64_t> own_cpu_ns;  // CPU time of this process until now
  std::optional<std::uint64_t> cpu_pressure_us, memory_pressure_us, io_pressure_us;
  std::optional<double> loadavg_1min;
  std::vector<std::uint64_t> frequencies_khz;    // per CPU with cpufreq
  std::optional<std::uint64_t> throttle_events;  // sum over CPUs
};

// Reads below `root` ("/" but in tests). Never fails: missing files leave fields absent.
// Takes about a millisecond; not for the measured loop.
HostSnapshot take_host_snapshot(const std::filesystem::path& root = "/");

// Beyond these a window is noisy. Shares are of the window's CPU time over all CPUs, pressures of
// its wall time.
struct HostBounds {
  double steal_share = 0.01;
  double other_load_share = 0.05;    // busy time that is not this process's
  double cpu_pressure_share = 0.10;  // judged only when own threads leave no CPU wanting
  double memory_pressure_share = 0.01;
  double io_pressure_share = 0.05;
  double frequency_change = 0.10;  // of the mean over CPUs, from open to close
  std::uint64_t throttle_events = 0;
};

struct HostWatch {
  std::int64_t window_ns = 0;
  std::optional<double> steal_share, other_load_share;
  std::optional<double> cpu_pressure_share, memory_pressure_share, io_pressure_share;
  std::optional<double> loadavg_1min;
  std::optional<double> frequency_mhz, frequency_change;
  std::optional<std::uint64_t> throttle_events;
  std::vector<std::string> noise;      // one sentence per bound that was passed; empty: quiet
  std::vector<std::string> unwatched;  // what this host does not tell

  bool noisy() const { return !noise.empty(); }
};

// `own_threads`: how many threads of ours want a CPU in the window.
HostWatch compare_host(const HostSnapshot& opened, const HostSnapshot& closed,
                       std::uint32_t own_threads, const HostBounds& bounds = {});

Json to_json(const HostWatch& watch);
// The inverse, for a watch that crossed a process boundary. None for another form.
std::optional<HostWatch> host_watch_from_json(const Json& json);

}  // namespace assay::loadgen
