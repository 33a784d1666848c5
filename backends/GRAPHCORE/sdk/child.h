#pragma once

// A program of the vendor's, run to its end under watch.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace graphcore {

struct ChildRequest {
  std::vector<std::string> arguments;     // the program first, found on PATH; no shell is involved
  std::string log;                        // file that takes its standard output and error
  std::chrono::milliseconds deadline{0};  // 0: none
  std::int64_t log_limit_bytes = std::int64_t{256} << 20;
  std::function<bool()> goes_on;  // asked a few times a second; false ends the child. May be empty
};

struct ChildEnd {
  enum class Why { kExited, kSignalled, kTimedOut, kCancelled, kTooMuchLog };
  Why why = Why::kExited;
  int code = 0;  // exit code, or the signal
};

// Waits for the end. A child that has to end gets SIGTERM, then SIGKILL, with all that it started.
// Throws backend::Error when it cannot be started.
ChildEnd run_child(const ChildRequest& request);

// The last lines of a log, at most so many bytes, without control characters.
std::string log_tail(const std::string& log, std::size_t bytes = 2000);

}  // namespace graphcore
