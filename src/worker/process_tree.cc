#include "worker/process_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace assay::worker {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kKilobyte = 1024;

// Resident memory with every shared page divided by those who share it; slow, so for doubts only.
std::int64_t proportional_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("Pss:")) return std::strtoll(line.c_str() + 4, nullptr, 10) * kKilobyte;
  }
  return usage_of(pid).rss_bytes;
}

}  // namespace

ProcessUsage usage_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t close = text.rfind(')');
  if (close == std::string::npos) return {};
  std::istringstream fields(text.substr(close + 1));
  std::vector<std::string> values{std::istream_iterator<std::string>(fields), {}};
  // proc(5): fields counted from 1; after the command's ')' the first value here is field 3.
  constexpr std::size_t kUserTicks = 14 - 3;
  constexpr std::size_t kSystemTicks = 15 - 3;
  constexpr std::size_t kChildrenUserTicks = 16 - 3;
  constexpr std::size_t kChildrenSystemTicks = 17 - 3;
  constexpr std::size_t kResidentPages = 24 - 3;
  if (values.size() <= kResidentPages) return {};
  const auto number = [&](std::size_t index) {
    return std::strtoll(values[index].c_str(), nullptr, 10);
  };
  ProcessUsage usage;
  const std::int64_t tick_ns = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  usage.cpu_ns = (number(kUserTicks) + number(kSystemTicks)) * tick_ns;
  usage.children_cpu_ns = (number(kChildrenUserTicks) + number(kChildrenSystemTicks)) * tick_ns;
  usage.rss_bytes = number(kResidentPages) * ::sysconf(_SC_PAGESIZE);
  return usage;
}

std::int64_t peak_rss_of(pid_t pid) {
  constexpr std::string_view kPeak = "VmHWM:";
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(kPeak)) continue;
    return std::strtoll(line.c_str() + kPeak.size(), nullptr, 10) * kKilobyte;
  }
  return 0;
}

// proc(5), clear_refs: 5 sets the peak to what is held now.
void reset_peak_rss(pid_t pid) {
  std::ofstream file(fmt::format("/proc/{}/clear_refs", pid));
  file << "5\n";
}

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code error;
  const fs::path tasks = fmt::format("/proc/{}/task", pid);
  for (fs::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error)) {
    std::ifstream file(it->path() / "children");
    pid_t child = 0;
    while (file >> child) children.push_back(child);
  }
  return children;
}

void add_descendants(std::vector<pid_t>& pids) {
  for (std::size_t i = 0; i < pids.size(); ++i) {
    for (const pid_t child : children_of(pids[i])) {
      if (std::find(pids.begin(), pids.end(), child) == pids.end()) pids.push_back(child);
    }
  }
}

std::int64_t cpu_ns_of(const std::vector<pid_t>& pids) {
  std::int64_t sum = 0;
  for (const pid_t pid : pids) {
    const ProcessUsage usage = usage_of(pid);
    sum += usage.cpu_ns + usage.children_cpu_ns;
  }
  return sum;
}

std::int64_t resident_bytes_of(const std::vector<pid_t>& pids, std::int64_t limit_bytes) {
  std::int64_t sum = 0;
  for (const pid_t pid : pids) sum += usage_of(pid).rss_bytes;
  if (sum <= limit_bytes || pids.size() < 2) return sum;
  sum = 0;
  for (const pid_t pid : pids) sum += proportional_bytes(pid);
  return sum;
}

}  // namespace assay::worker
