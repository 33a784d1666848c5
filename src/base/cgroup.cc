#include "base/cgroup.h"

#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace assay {
namespace fs = std::filesystem;
namespace {

// A version 1 group without a limit has the largest number of whole pages.
constexpr std::int64_t kNoLimitFrom = std::int64_t{1} << 60;

constexpr std::string_view kUnifiedMount = "sys/fs/cgroup";

struct Hierarchy {
  std::string_view mount;  // below the root
  std::string group;       // "/", "/a/b"
};

// Of version 2 ("0::/group" in /proc/self/cgroup), and of version 1's memory ("4:memory:/group").
std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers == "memory") found.push_back({"sys/fs/cgroup/memory", line.substr(second + 1)});
    if (controllers.empty()) found.push_back({kUnifiedMount, line.substr(second + 1)});
  }
  return found;
}

// The folders from this process's group up to the root of the hierarchy.
std::vector<fs::path> way_up(const fs::path& root, const Hierarchy& hierarchy) {
  std::vector<fs::path> folders;
  std::string group = hierarchy.group == "/" ? "" : hierarchy.group;
  while (true) {
    folders.push_back(root / hierarchy.mount / fs::path(group).relative_path());
    if (group.empty()) return folders;
    group.erase(group.rfind('/'));
  }
}

std::optional<double> read_quota_cores(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  std::int64_t quota = 0;  // "max" is no number
  std::int64_t period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

std::optional<std::int64_t> read_limit(const fs::path& group) {
  for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
    std::ifstream file(group / name);
    std::int64_t bytes = 0;  // "max" is no number
    if (file >> bytes && bytes > 0 && bytes < kNoLimitFrom) return bytes;
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> memory_cgroups(const fs::path& root) {
  std::vector<fs::path> groups;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    for (const fs::path& folder : way_up(root, hierarchy)) {
      std::error_code ignored;
      const bool is_one = fs::exists(folder / "memory.max", ignored) ||
                          fs::exists(folder / "memory.limit_in_bytes", ignored);
      if (is_one) groups.push_back(folder);
    }
  }
  return groups;
}

std::optional<std::int64_t> cgroup_memory_limit_bytes(const fs::path& root) {
  std::optional<std::int64_t> least;
  for (const fs::path& group : memory_cgroups(root)) {
    const std::optional<std::int64_t> limit = read_limit(group);
    if (limit && (!least || *limit < *least)) least = limit;
  }
  return least;
}

std::optional<double> cgroup_cpu_quota_cores(const fs::path& root) {
  std::optional<double> least;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    if (hierarchy.mount != kUnifiedMount) continue;
    for (const fs::path& group : way_up(root, hierarchy)) {
      const std::optional<double> quota = read_quota_cores(group);
      if (quota && (!least || *quota < *least)) least = quota;
    }
  }
  return least;
}

std::int64_t cgroup_oom_kills(const fs::path& root) {
  const std::vector<fs::path> groups = memory_cgroups(root);
  if (groups.empty()) return 0;
  for (const char* name : {"memory.events", "memory.oom_control"}) {
    std::ifstream events(groups.front() / name);
    std::string key;
    std::int64_t value = 0;
    while (events >> key >> value) {
      if (key == "oom_kill") return value;
    }
  }
  return 0;
}

}  // namespace assay
