#include "controller/python_worker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace assay::controller {
namespace {

// A list of folders as the user's environment has it: the worker runs in another folder, so what is
// relative is taken from this one.
std::string absolute_folders(std::string_view list) {
  std::string made;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(':', start), list.size());
    std::error_code ignored;
    const auto folder = std::filesystem::absolute(list.substr(start, end - start), ignored);
    made += (made.empty() ? "" : ":") + (start == end ? "" : folder.string());
    start = end + 1;
  }
  return made;
}

// `folder` before what the user's own environment names.
std::string first_in(const char* variable, const std::string& folder) {
  const char* const named = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return named == nullptr || *named == '\0' ? folder : folder + ":" + absolute_folders(named);
}

// Where the command was given: published code finds what lies prepared in `general_perf/` there.
std::string current_folder() {
  std::error_code failed;
  const auto folder = std::filesystem::current_path(failed);
  return failed ? "" : folder.string();
}

WorkerLaunch python_launch(const PythonWorker& python, const host::Manifest& manifest) {
  WorkerLaunch launch;
  launch.program = python.interpreter;
  launch.arguments = {"-B", "-m", "assay_host.worker"};
  launch.working_folder = python.scratch;
  launch.backend_library = python.bridge;
  launch.environment = python.environment;
  launch.environment.insert({
      {"PYTHONPATH", first_in("PYTHONPATH", python.package.string())},
      {"PYTHONDONTWRITEBYTECODE", "1"},
      {"PYTHONUNBUFFERED", "1"},    // what was printed before a crash is in the log
      {"PYTHONFAULTHANDLER", "1"},  // so is the stack at a crash
      {"PYTHONIOENCODING", "utf-8:backslashreplace"},
      {"ASSAY_WORKER_LIBRARY", python.worker_library.string()},
      {"ASSAY_PYTHON_BACKEND", manifest.folder.string()},
      {"ASSAY_PYTHON_HARDWARE", manifest.hardware_type},
      {"ASSAY_PYTHON_STUBS", fmt::format("{}", fmt::join(python.stubs, ","))},
      {"ASSAY_PYTHON_SCRATCH", python.scratch.string()},
      {"ASSAY_PYTHON_ORIGIN", current_folder()},
  });
  const char* const libraries = std::getenv("LD_LIBRARY_PATH");  // NOLINT(concurrency-mt-unsafe)
  if (libraries != nullptr && *libraries != '\0') {
    launch.environment.insert({"LD_LIBRARY_PATH", absolute_folders(libraries)});
  }
  for (const auto& [name, value] : manifest.environment) launch.environment[name] = value;
  return launch;
}

}  // namespace

Result<WorkerLaunch> worker_launch(const std::filesystem::path& worker_program,
                                   const std::optional<PythonWorker>& python,
                                   const host::Manifest& manifest) {
  if (manifest.language == host::Language::kPython) {
    if (python) return python_launch(*python, manifest);
    return failed_precondition(fmt::format(
        "{} is a Python backend, and no interpreter was chosen for it", manifest.hardware_type));
  }
  WorkerLaunch launch;
  launch.program = worker_program;
  launch.environment = manifest.environment;
  launch.backend_library = manifest.library_path();
  return launch;
}

}  // namespace assay::controller
