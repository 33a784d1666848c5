#include "loadgen/host_watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/cpus.h"

namespace assay::loadgen {
namespace {

namespace fs = std::filesystem;

// One reading of a kernel file; none when it is not there or not readable.
std::optional<std::string> read_text(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || text.empty()) return std::nullopt;
  return text;
}

std::string_view skip_spaces(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

// Takes an unsigned number from the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  text = skip_spaces(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

template <typename Parser>
auto parse_file(const fs::path& path, Parser parser) -> decltype(parser(std::string_view())) {
  const std::optional<std::string> text = read_text(path);
  if (!text) return std::nullopt;
  return parser(*text);
}

// The same file of every CPU that has it.
std::vector<std::uint64_t> read_per_cpu(const fs::path& cpus, std::uint32_t count,
                                        std::string_view file) {
  std::vector<std::uint64_t> values;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto value = parse_file(cpus / fmt::format("cpu{}", i) / file, parse_counter);
    if (value) values.push_back(*value);
  }
  return values;
}

std::optional<std::int64_t> own_cpu_time_ns() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return std::nullopt;
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// A counter's growth as a share of `whole`; a counter that fell tells nothing.
std::optional<double> share(std::optional<std::uint64_t> before, std::optional<std::uint64_t> after,
                            double whole) {
  if (!before || !after || *after < *before || !(whole > 0)) return std::nullopt;
  return static_cast<double>(*after - *before) / whole;
}

std::optional<double> mean_of(const std::vector<std::uint64_t>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void compare_cpu(const HostSnapshot& opened, const HostSnapshot& closed, HostWatch& watch) {
  if (!opened.cpu || !closed.cpu) return;
  const CpuTimes& a = *opened.cpu;
  const CpuTimes& b = *closed.cpu;
  if (b.busy_ticks < a.busy_ticks || b.idle_ticks < a.idle_ticks || b.steal_ticks < a.steal_ticks) {
    return;
  }
  const auto busy = static_cast<double>(b.busy_ticks - a.busy_ticks);
  const auto steal = static_cast<double>(b.steal_ticks - a.steal_ticks);
  const double all = busy + static_cast<double>(b.idle_ticks - a.idle_ticks) + steal;
  if (!(all > 0)) return;
  watch.steal_share = steal / all;
  if (opened.own_cpu_ns && closed.own_cpu_ns) {
    const double ticks_per_ns = static_cast<double>(sysconf(_SC_CLK_TCK)) / 1e9;
    const double own = static_cast<double>(*closed.own_cpu_ns - *opened.own_cpu_ns) * ticks_per_ns;
    watch.other_load_share = std::clamp((busy - own) / all, 0.0, 1.0);
  }
}

struct Watched {
  std::optional<double> HostWatch::* value;
  std::string_view key;   // in JSON
  std::string_view name;  // in a sentence
  double HostBounds::* bound;
};

constexpr std::array<Watched, 6> kWatched{{
    {&HostWatch::steal_share, "steal_share", "CPU time stolen by the hypervisor",
     &HostBounds::steal_share},
    {&HostWatch::other_load_share, "other_load_share", "CPU time of other processes",
     &HostBounds::other_load_share},
    {&HostWatch::cpu_pressure_share, "cpu_pressure_share", "time in which a task waited for a CPU",
     &HostBounds::cpu_pressure_share},
    {&HostWatch::memory_pressure_share, "memory_pressure_share",
     "time in which a task waited for memory", &HostBounds::memory_pressure_share},
    {&HostWatch::io_pressure_share, "io_pressure_share", "time in which a task waited for a disk",
     &HostBounds::io_pressure_share},
    {&HostWatch::frequency_change, "frequency_change", "change of the CPU frequency",
     &HostBounds::frequency_change},
}};

void judge(const HostBounds& bounds, bool own_threads_fit, HostWatch& watch) {
  for (const Watched& watched : kWatched) {
    const std::optional<double>& value = watch.*watched.value;
    if (!value) {
      watch.unwatched.emplace_back(watched.name);
      continue;
    }
    // With more threads than CPUs the waiting is our own doing.
    if (watched.value == &HostWatch::cpu_pressure_share && !own_threads_fit) continue;
    const double bound = bounds.*watched.bound;
    if (std::abs(*value) > bound) {
      watch.noise.push_back(fmt::format("{}: {:.1f} %, accepted is {:.1f} %", watched.name,
                                        *value * 100, bound * 100));
    }
  }
  if (!watch.throttle_events) {
    watch.unwatched.emplace_back("thermal throttling");
  } else if (*watch.throttle_events > bounds.throttle_events) {
    watch.noise.push_back(fmt::format("{} thermal throttling events", *watch.throttle_events));
  }
}

}  // namespace

std::optional<CpuTimes> parse_proc_stat(std::string_view text) {
  if (!text.starts_with("cpu ")) return std::nullopt;
  text.remove_prefix(4);
  // user nice system idle iowait irq softirq steal; guest times follow and are within user.
  std::array<std::uint64_t, 8> field{};
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::optional<std::uint64_t> value = take_number(text);
    if (!value && i < 4) return std::nullopt;
    field[i] = value.value_or(0);
  }
  return CpuTimes{.busy_ticks = field[0] + field[1] + field[2] + field[5] + field[6],
                  .idle_ticks = field[3] + field[4],
                  .steal_ticks = field[7]};
}

std::optional<std::uint64_t> parse_pressure_some_us(std::string_view text) {
  constexpr std::string_view kTotal = "total=";
  if (!text.starts_with("some ")) return std::nullopt;
  std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t at = line.find(kTotal);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + kTotal.size());
  return take_number(line);
}

std::optional<double> parse_loadavg(std::string_view text) {
  text = skip_spaces(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_counter(std::string_view text) { return take_number(text); }

HostSnapshot take_host_snapshot(const fs::path& root) {
  HostSnapshot snapshot;
  snapshot.at_ns = now_ns();
  snapshot.cpus = usable_cpus();
  const auto configured = static_cast<std::uint32_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 1L));
  const fs::path proc = root / "proc";
  const fs::path cpus = root / "sys/devices/system/cpu";
  snapshot.cpu = parse_file(proc / "stat", parse_proc_stat);
  snapshot.own_cpu_ns = own_cpu_time_ns();
  snapshot.cpu_pressure_us = parse_file(proc / "pressure/cpu", parse_pressure_some_us);
  snapshot.memory_pressure_us = parse_file(proc / "pressure/memory", parse_pressure_some_us);
  snapshot.io_pressure_us = parse_file(proc / "pressure/io", parse_pressure_some_us);
  snapshot.loadavg_1min = parse_file(proc / "loadavg", parse_loadavg);
  snapshot.frequencies_khz = read_per_cpu(cpus, configured, "cpufreq/scaling_cur_freq");
  const auto throttles = read_per_cpu(cpus, configured, "thermal_throttle/core_throttle_count");
  if (!throttles.empty()) {
    snapshot.throttle_events =
        std::accumulate(throttles.begin(), throttles.end(), std::uint64_t{0});
  }
  return snapshot;
}

HostWatch compare_host(const HostSnapshot& opened, const HostSnapshot& closed,
                       std::uint32_t own_threads, const HostBounds& bounds) {
  HostWatch watch;
  watch.window_ns = std::max<std::int64_t>(closed.at_ns - opened.at_ns, 0);
  const double window_us = static_cast<double>(watch.window_ns) / 1e3;
  compare_cpu(opened, closed, watch);
  watch.cpu_pressure_share = share(opened.cpu_pressure_us, closed.cpu_pressure_us, window_us);
  watch.memory_pressure_share =
      share(opened.memory_pressure_us, closed.memory_pressure_us, window_us);
  watch.io_pressure_share = share(opened.io_pressure_us, closed.io_pressure_us, window_us);
  watch.loadavg_1min = closed.loadavg_1min;
  const std::optional<double> before = mean_of(opened.frequencies_khz);
  const std::optional<double> after = mean_of(closed.frequencies_khz);
  if (after) watch.frequency_mhz = *after / 1e3;
  if (before && after && *before > 0) watch.frequency_change = *after / *before - 1;
  if (opened.throttle_events && closed.throttle_events &&
      *closed.throttle_events >= *opened.throttle_events) {
    watch.throttle_events = *closed.throttle_events - *opened.throttle_events;
  }
  judge(bounds, own_threads <= closed.cpus, watch);
  return watch;
}

Json to_json(const HostWatch& watch) {
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  Json json{{"window_ns", watch.window_ns}, {"noisy", watch.noisy()}};
  for (const Watched& watched : kWatched)
    json[std::string(watched.key)] = number(watch.*watched.value);
  json["loadavg_1min"] = number(watch.loadavg_1min);
  json["frequency_mhz"] = number(watch.frequency_mhz);
  json["throttle_events"] = number(watch.throttle_events);
  json["noise"] = watch.noise;
  json["unwatched"] = watch.unwatched;
  return json;
}

std::optional<HostWatch> host_watch_from_json(const Json& json) {
  const auto number = [&json](std::string_view key) {
    const Json& value = json.at(std::string(key));
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
  };
  try {
    HostWatch watch;
    watch.window_ns = json.at("window_ns").get<std::int64_t>();
    for (const Watched& watched : kWatched) watch.*watched.value = number(watched.key);
    watch.loadavg_1min = number("loadavg_1min");
    watch.frequency_mhz = number("frequency_mhz");
    if (const Json& events = json.at("throttle_events"); !events.is_null()) {
      watch.throttle_events = events.get<std::uint64_t>();
    }
    watch.noise = json.at("noise").get<std::vector<std::string>>();
    watch.unwatched = json.at("unwatched").get<std::vector<std::string>>();
    return watch;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace assay::loadgen
