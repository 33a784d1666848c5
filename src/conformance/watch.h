#pragma once

// Internal to the room: what appears in folders and among processes while nobody should touch them.

#include <sys/types.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace assay::conformance {

// Every file and folder below `roots`, with size and time of change.
class FolderWatch {
 public:
  explicit FolderWatch(std::vector<std::filesystem::path> roots);
  // Paths that are new or were changed since.
  std::vector<std::string> changes() const;

 private:
  std::set<std::string> listing() const;
  std::vector<std::filesystem::path> roots_;
  std::set<std::string> before_;
};

// Shared memory by name that is new since and that no process has open or mapped.
class SharedMemoryWatch {
 public:
  SharedMemoryWatch();
  std::vector<std::string> orphans() const;

 private:
  std::set<std::string> before_;
};

// Children of this process other than `worker`: what a backend's processes left to us.
std::vector<pid_t> adopted_besides(pid_t worker);

}  // namespace assay::conformance
