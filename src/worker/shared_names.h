#pragma once

// Names of shared memory that outlive the processes which made them: files in /dev/shm (shm_open,
// sem_open) and System V segments.

#include <sys/types.h>

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace assay::worker {

struct LeftNames {
  std::vector<std::string> removed;    // held by the worker or by what it started
  std::vector<std::string> unclaimed;  // came meanwhile and nobody holds them; they stay
};

// What the report says of them: a sentence for each kind that there is.
std::vector<std::string> warnings_of(const LeftNames& left);

// Follows what a worker and its descendants name. Who made a file in /dev/shm is not recorded
// anywhere, so only what a process of theirs was seen to hold, open or mapped, counts as theirs; a
// segment names its maker. One thread at a time.
class SharedNames {
 public:
  // What is there now is nobody's here.
  explicit SharedNames(std::filesystem::path folder = "/dev/shm");

  // Cheap unless names came since: then it is read what each of `pids` holds.
  void look(std::span<const pid_t> pids);

  // After the processes have ended: removes what was theirs, unless a process holds it still.
  LeftNames clear();

 private:
  std::set<std::string> new_files() const;
  void clear_files(LeftNames& left) const;
  void clear_segments(LeftNames& left) const;

  std::filesystem::path folder_;
  std::set<std::string> files_before_;
  std::set<int> segments_before_;
  std::set<pid_t> pids_;          // all that were looked at
  std::set<std::string> seen_;    // files whose holders were looked for
  std::set<std::string> theirs_;  // those that one of pids_ held
};

}  // namespace assay::worker
