#include "drill/resources.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace assay::drill {
namespace fs = std::filesystem;
namespace {

// "socket:[123]" is another one each time it is opened: told by its kind alone.
std::string target_of(const fs::path& link) {
  std::error_code error;
  const std::string target = fs::read_symlink(link, error).string();
  return target.starts_with('/') ? target : target.substr(0, target.find(":["));
}

std::size_t entries(const fs::path& folder) {
  std::error_code error;
  std::size_t count = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    ++count;
  }
  return count;
}

// Children of every thread, those that ended and wait to be reaped among them.
std::size_t children() {
  std::error_code error;
  std::size_t count = 0;
  for (fs::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream file(it->path() / "children");
    count += static_cast<std::size_t>(
        std::distance(std::istream_iterator<long>(file), std::istream_iterator<long>()));
  }
  return count;
}

}  // namespace

Resources own_resources() {
  Resources held;
  std::error_code error;
  for (fs::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    // The folder that is being read is a descriptor too, and is no more when its link is read.
    const std::string target = target_of(it->path());
    if (!target.empty() && !target.ends_with("/fd")) held.descriptors.insert(target);
  }
  held.threads = entries("/proc/self/task");
  held.children = children();
  return held;
}

std::string growth(const Resources& before, const Resources& after) {
  std::vector<std::string> more;
  std::vector<std::string> opened;
  std::ranges::set_difference(after.descriptors, before.descriptors, std::back_inserter(opened));
  more.reserve(opened.size());
  for (const std::string& target : opened) more.push_back("a descriptor of " + target);
  if (after.threads > before.threads) {
    more.push_back(fmt::format("threads: {} more", after.threads - before.threads));
  }
  if (after.children > before.children) {
    more.push_back(fmt::format("child processes: {} more", after.children - before.children));
  }
  return fmt::format("{}", fmt::join(more, "; "));
}

std::int64_t own_memory_bytes() {
  constexpr std::int64_t kKilobyte = 1024;
  std::ifstream file("/proc/self/smaps_rollup");
  std::int64_t bytes = 0;
  for (std::string line; std::getline(file, line);) {
    const bool own = line.starts_with("Private_Dirty:") || line.starts_with("Swap:");
    if (own) bytes += kKilobyte * std::strtoll(line.c_str() + line.find(':') + 1, nullptr, 10);
  }
  return bytes;
}

}  // namespace assay::drill
