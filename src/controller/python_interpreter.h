#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay::controller {

// What an interpreter says of itself.
struct PythonInterpreter {
  std::filesystem::path path;  // sys.executable: no launcher in front of it
  std::string implementation;  // "CPython"
  std::string version;         // "3.11.7"
  std::string platform;        // "linux-x86_64"
  bool has_numpy = false;
  std::vector<std::string> packages;  // "numpy==2.4.6", sorted
};

// Asks `name`, a path or a command on the path. What it prints goes to `log`. kNotFound when there
// is no such program; kFailedPrecondition when it is no CPython of 3.8 or newer, with what it is.
Result<PythonInterpreter> ask_interpreter(const std::string& name, const std::filesystem::path& log,
                                          const std::atomic<bool>* stop);

// The interpreter as its own answer describes it, kept as JSON, and back; `asked` is who said it,
// for messages. Errors as of ask_interpreter.
Json to_json(const PythonInterpreter& interpreter);
Result<PythonInterpreter> interpreter_from_json(const Json& json,
                                                const std::filesystem::path& asked);

}  // namespace assay::controller
