#include "controller/python_interpreter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/json_parse.h"
#include "controller/python_child.h"
#include "controller/typed_object.h"
#include "worker/log_tail.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kAnswer = "assay-python ";
constexpr std::size_t kTailBytes = 400;

// Written for any version, old ones too: those are to be named in the refusal.
constexpr const char* kQuestion = R"(
import json, platform, sys, sysconfig
packages, numpy = [], False
if sys.version_info >= (3, 8):
    import importlib.util
    from importlib import metadata
    found = {}
    for one in metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found.setdefault(name, "%s==%s" % (name, one.version))
    packages = sorted(found.values(), key=str.lower)
    numpy = importlib.util.find_spec("numpy") is not None
print("assay-python " + json.dumps({
    "path": sys.executable, "implementation": platform.python_implementation(),
    "version": platform.python_version(), "platform": sysconfig.get_platform(),
    "supported": sys.version_info >= (3, 8), "has_numpy": numpy, "packages": packages}))
)";

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// As a shell finds it. A path stays one, and a link a link: an environment's interpreter is one.
Result<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    const fs::path path = fs::absolute(name).lexically_normal();
    if (is_program(path)) return path;
    return not_found(fmt::format("--python: there is no program {}", quoted(path)));
  }
  const char* const named = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::string_view rest = named == nullptr ? "" : named;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(':'));
    if (!one.empty() && is_program(fs::path(one) / name)) return fs::absolute(fs::path(one) / name);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  return not_found(fmt::format(
      "there is no command \"{}\" on the path; --python INTERPRETER names the one to use", name));
}

}  // namespace

Json to_json(const PythonInterpreter& interpreter) {
  return {{"path", interpreter.path.string()},
          {"implementation", interpreter.implementation},
          {"version", interpreter.version},
          {"platform", interpreter.platform},
          {"supported", true},
          {"has_numpy", interpreter.has_numpy},
          {"packages", interpreter.packages}};
}

Result<PythonInterpreter> interpreter_from_json(const Json& json, const fs::path& asked) {
  const TypedObject members(json, "the interpreter's answer");
  PythonInterpreter found;
  ASSIGN_OR_RETURN(const std::string path, members.text("path"));
  found.path = path;
  ASSIGN_OR_RETURN(found.implementation, members.text("implementation"));
  ASSIGN_OR_RETURN(found.version, members.text("version"));
  ASSIGN_OR_RETURN(found.platform, members.text("platform"));
  ASSIGN_OR_RETURN(found.has_numpy, members.flag("has_numpy"));
  ASSIGN_OR_RETURN(found.packages, members.texts("packages"));
  ASSIGN_OR_RETURN(const bool supported, members.flag("supported"));
  if (supported && found.implementation == "CPython" && !found.path.empty()) return found;
  return failed_precondition(
      fmt::format("{} is {} {}; Assay runs backends on CPython 3.8 and newer", quoted(asked),
                  found.implementation, found.version));
}

Result<PythonInterpreter> ask_interpreter(const std::string& name, const fs::path& log,
                                          const std::atomic<bool>* stop) {
  ASSIGN_OR_RETURN(const fs::path program, find_program(name));
  Json answer;
  ChildRequest request;
  request.program = program;
  request.arguments = {"-B", "-c", kQuestion};
  request.log = log;
  request.stop = stop;
  request.on_line = [&](const std::string& line) {
    if (!line.starts_with(kAnswer)) return;
    const Result<Json> said = parse_json(std::string_view(line).substr(kAnswer.size()));
    if (said.ok()) answer = *said;
  };
  const Status status = run_child(request);
  if (status.code() == StatusCode::kCancelled) return status;
  if (status.ok() && answer.is_object()) return interpreter_from_json(answer, program);
  const std::string tail = worker::log_tail(log, kTailBytes);
  return failed_precondition(fmt::format("{} is no usable Python interpreter: {}{}",
                                         quoted(program),
                                         status.ok() ? "it answered nothing" : status.message(),
                                         tail.empty() ? "" : "; its last words: " + tail));
}

}  // namespace assay::controller
