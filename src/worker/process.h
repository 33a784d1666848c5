#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::worker {

// What to start. The child leads a session of its own (a Ctrl-C on the terminal does not reach it),
// inherits no descriptor but standard input (empty), output and error (the log) and `channel_fd`,
// which it finds as descriptor 3 (-1: none), and `stack_fd`, which it finds as descriptor 4 (-1:
// none, as without a channel; never 3).
struct SpawnRequest {
  std::filesystem::path program;
  std::vector<std::string> arguments;              // without the program's own name
  std::map<std::string, std::string> environment;  // added to ours, before exec
  std::filesystem::path log;                       // created or appended to
  int channel_fd = -1;
  int stack_fd = -1;
  std::filesystem::path working_folder;  // empty: ours
};

// How a process ended.
struct ProcessEnd {
  bool signalled = false;
  int code = 0;  // exit code, or the signal's number
  std::int64_t peak_rss_bytes = 0;
};

// A started child. Killed with all its descendants, and reaped, when it goes. While there is one,
// this process adopts descendants of its children that lose their parent (PR_SET_CHILD_SUBREAPER),
// so that none gets away by forking twice, in a session of its own or with an environment of its
// own. One thread at a time.
class Process {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Spawned (never forked: safe from a threaded parent). kNotFound, kPermissionDenied, ...
  static Result<Process> start(const SpawnRequest& request);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t pid() const { return pid_; }

  // The end, or nullopt when the deadline passes first. May be asked again after the end.
  std::optional<ProcessEnd> wait(Deadline deadline);

  // It and every process that it started, as far as they live.
  std::vector<pid_t> tree() const;

  // SIGKILL to all of tree(), again and again until nothing is left of it; what was adopted is
  // reaped. Gives up after some seconds on one that the kernel does not let die.
  void kill_tree();

 private:
  Process(pid_t pid, std::string marker) : pid_(pid), marker_(std::move(marker)) {}

  pid_t pid_ = -1;
  std::string marker_;  // stands in the environment of every descendant
  std::optional<ProcessEnd> end_;
};

// "SIGSEGV" for 11, "signal 64" where there is no name.
std::string signal_name(int signal_number);

}  // namespace assay::worker
