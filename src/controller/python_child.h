#pragma once

// Programs that are run for their output: an interpreter that is asked something, an installer.

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace assay::controller {

struct ChildRequest {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // added to ours
  std::filesystem::path log;                       // appended to: what it prints
  std::filesystem::path working_folder;            // empty: ours
  const std::atomic<bool>* stop = nullptr;         // set when the user interrupts; may be null
  // Told each whole line as it is printed. May be empty.
  std::function<void(const std::string&)> on_line;
};

// Runs it to its end; ok when it ended with 0. kCancelled when the user interrupted, and then it
// and its descendants are gone; kNotFound, kPermissionDenied, ... when there is no such program;
// kFailedPrecondition when it ended otherwise, saying how.
Status run_child(const ChildRequest& request);

}  // namespace assay::controller
