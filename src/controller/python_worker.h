#pragma once

// What is started to have a backend's worker: our program, or for a Python backend its interpreter.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/manifest.h"

namespace assay::controller {

// The interpreter that is the worker of a Python backend.
struct PythonWorker {
  std::filesystem::path interpreter;
  std::map<std::string, std::string> environment;  // of its own: where its programs are
  std::vector<std::string> stubs;                  // modules that are stubbed by request
  std::filesystem::path package;                   // the folder that holds assay_host
  std::filesystem::path worker_library;
  std::filesystem::path bridge;   // the plugin that a Python folder is behind
  std::filesystem::path scratch;  // where it runs; existing
};

struct WorkerLaunch {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::filesystem::path working_folder;  // empty: ours
  std::map<std::string, std::string> environment;
  std::filesystem::path backend_library;  // what the worker opens
};

// kFailedPrecondition for a Python backend without an interpreter.
Result<WorkerLaunch> worker_launch(const std::filesystem::path& worker_program,
                                   const std::optional<PythonWorker>& python,
                                   const host::Manifest& manifest);

}  // namespace assay::controller
