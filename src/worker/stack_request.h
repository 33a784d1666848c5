#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::worker {

// The controller's side of a worker's stacks: a file in memory that the worker's threads write to
// when they are asked (answer_with_stacks). Owns its descriptor.
class StackRequest {
 public:
  static Result<StackRequest> create();
  StackRequest(StackRequest&& other) noexcept;
  StackRequest& operator=(StackRequest&&) = delete;
  ~StackRequest();

  // For the worker; never 3, where it finds its channel.
  int fd() const { return fd_; }

  // One line per thread and one per frame, innermost first; for a thread whose stack cannot be had
  // one line that says why. Waits no longer than `patience` in all.
  std::vector<std::string> ask(pid_t pid, std::chrono::milliseconds patience) const;

 private:
  explicit StackRequest(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace assay::worker
