#include "conformance/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "worker/process_tree.h"

namespace assay::conformance {
namespace fs = std::filesystem;
namespace {

const fs::path& shared_memory_folder() {
  static const fs::path kFolder = fs::path("/dev") / "shm";
  return kFolder;
}

std::set<std::string> shared_memory() {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(shared_memory_folder(), error), end; !error && it != end;
       it.increment(error)) {
    names.insert(it->path().string());
  }
  return names;
}

bool is_open_in(const fs::path& process, const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator it(process / "fd", error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (fs::read_symlink(it->path(), ignored) == path) return true;
  }
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(path)) return true;
  }
  return false;
}

bool is_in_use(const std::string& path) {
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_process = std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (is_process && is_open_in(it->path(), path)) return true;
  }
  return false;
}

}  // namespace

FolderWatch::FolderWatch(std::vector<fs::path> roots)
    : roots_(std::move(roots)), before_(listing()) {}

std::set<std::string> FolderWatch::listing() const {
  std::set<std::string> found;
  for (const fs::path& root : roots_) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(root, error), end; !error && it != end;
         it.increment(error)) {
      std::error_code ignored;
      // A folder changes its time with its files, which are told themselves.
      const bool is_file = it->is_regular_file(ignored);
      const auto size = is_file ? it->file_size(ignored) : 0;
      const auto time = is_file ? it->last_write_time(ignored).time_since_epoch().count() : 0;
      found.insert(fmt::format("{}\n{} {}", it->path().string(), size, time));
    }
  }
  return found;
}

std::vector<std::string> FolderWatch::changes() const {
  std::vector<std::string> changed;
  std::ranges::set_difference(listing(), before_, std::back_inserter(changed));
  for (std::string& path : changed) path.resize(path.find('\n'));
  return changed;
}

SharedMemoryWatch::SharedMemoryWatch() : before_(shared_memory()) {}

std::vector<std::string> SharedMemoryWatch::orphans() const {
  std::vector<std::string> left;
  std::ranges::set_difference(shared_memory(), before_, std::back_inserter(left));
  std::erase_if(left, is_in_use);
  return left;
}

std::vector<pid_t> adopted_besides(pid_t worker) {
  std::vector<pid_t> children = worker::children_of(::getpid());
  std::erase(children, worker);
  return children;
}

}  // namespace assay::conformance
