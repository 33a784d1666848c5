#include "worker/shared_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <system_error>

namespace assay::worker {
namespace fs = std::filesystem;
namespace {

struct Segment {
  pid_t maker = 0;
  std::uint64_t attached = 0;
};

// Of this user, by id.
std::map<int, Segment> segments() {
  std::map<int, Segment> found;
  std::ifstream file("/proc/sysvipc/shm");
  file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');  // the headings
  std::string line;
  while (std::getline(file, line)) {
    // proc(5): key shmid perms size cpid lpid nattch uid ...
    std::istringstream fields(line);
    std::int64_t key = 0;
    std::string perms;
    std::uint64_t size = 0;
    pid_t last = 0;
    uid_t owner = 0;
    int id = 0;
    Segment segment;
    fields >> key >> id >> perms >> size >> segment.maker >> last >> segment.attached >> owner;
    if (fields && owner == ::geteuid()) found.emplace(id, segment);
  }
  return found;
}

std::set<std::string> files_of(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat info{};
    const bool known = ::lstat(it->path().c_str(), &info) == 0;
    if (known && info.st_uid == ::geteuid()) names.insert(it->path().filename());
  }
  return names;
}

// The names in `folder` of which a process has something open or mapped. What may not be read is
// not held.
std::set<std::string> held_by(pid_t pid, const fs::path& folder) {
  std::set<std::string> names;
  const std::string prefix = folder.string() + "/";
  const auto add = [&](const std::string& path) {
    if (!path.starts_with(prefix)) return;
    names.insert(path.substr(prefix.size(), path.find('/', prefix.size()) - prefix.size()));
  };
  std::error_code error;
  const fs::path descriptors = fmt::format("/proc/{}/fd", pid);
  for (fs::directory_iterator it(descriptors, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unreadable;
    add(fs::read_symlink(it->path(), unreadable).string());
  }
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t path = line.find(prefix);
    if (path != std::string::npos) add(line.substr(path));
  }
  return names;
}

std::set<std::string> held_by_anybody(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (!std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; })) continue;
    names.merge(held_by(std::stoi(name), folder));
  }
  return names;
}

}  // namespace

std::vector<std::string> warnings_of(const LeftNames& left) {
  std::vector<std::string> warnings;
  if (!left.removed.empty()) {
    warnings.push_back(fmt::format("The backend left shared memory behind, which was removed: {}.",
                                   fmt::join(left.removed, ", ")));
  }
  if (!left.unclaimed.empty()) {
    warnings.push_back(fmt::format(
        "Shared memory appeared while the backend's process lived, and no process holds it: {}. "
        "Whose it is cannot be told, so it was left there.",
        fmt::join(left.unclaimed, ", ")));
  }
  return warnings;
}

SharedNames::SharedNames(fs::path folder)
    : folder_(std::move(folder)), files_before_(files_of(folder_)) {
  for (const auto& [id, segment] : segments()) segments_before_.insert(id);
}

std::set<std::string> SharedNames::new_files() const {
  std::set<std::string> names = files_of(folder_);
  std::erase_if(names, [&](const std::string& name) { return files_before_.contains(name); });
  return names;
}

void SharedNames::look(std::span<const pid_t> pids) {
  pids_.insert(pids.begin(), pids.end());
  const std::set<std::string> files = new_files();
  if (std::ranges::includes(seen_, files)) return;
  seen_.insert(files.begin(), files.end());
  for (const pid_t pid : pids) theirs_.merge(held_by(pid, folder_));
}

LeftNames SharedNames::clear() {
  LeftNames left;
  clear_files(left);
  clear_segments(left);
  return left;
}

void SharedNames::clear_files(LeftNames& left) const {
  const std::set<std::string> names = new_files();
  if (names.empty()) return;
  const std::set<std::string> held = held_by_anybody(folder_);
  for (const std::string& name : names) {
    if (held.contains(name)) continue;
    std::error_code error;
    const bool is_removed =
        theirs_.contains(name) && fs::remove_all(folder_ / name, error) > 0 && !error;
    (is_removed ? left.removed : left.unclaimed).push_back((folder_ / name).string());
  }
}

void SharedNames::clear_segments(LeftNames& left) const {
  for (const auto& [id, segment] : segments()) {
    const bool is_theirs = !segments_before_.contains(id) && pids_.contains(segment.maker);
    if (!is_theirs || segment.attached > 0) continue;
    if (::shmctl(id, IPC_RMID, nullptr) != 0) continue;
    left.removed.push_back(fmt::format("System V shared memory {}", id));
  }
}

}  // namespace assay::worker
