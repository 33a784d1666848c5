#include "controller/python_set_up.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"
#include "controller/steps.h"

namespace assay::controller {
namespace fs = std::filesystem;

Result<PythonSetUp> set_up_python(const workload::RunRequest& request,
                                  const host::Manifest& manifest, const RunEnvironment& environment,
                                  const fs::path& folder) {
  const Installation& installation = environment.installation;
  const PythonWish wish{request.python, request.requirements, manifest.folder};
  const PythonRoom room{
      .cache = installation.cache,
      .logs = folder,
      .stop = environment.stop,
      .say = [&](const std::string& line) { environment.observer->waiting(line); }};
  PythonSetUp made;
  ASSIGN_OR_RETURN(made.environment, find_or_make_environment(wish, room));
  made.worker.interpreter = made.environment.interpreter.path;
  made.worker.environment = made.environment.variables;
  made.worker.stubs = request.stubs;
  made.worker.package = installation.python;
  made.worker.worker_library = installation.worker.parent_path() / "libassay_worker.so";
  made.worker.bridge = installation.worker.parent_path() / "libassay_python_backend.so";
  made.worker.scratch = fs::absolute(folder / "python");
  RETURN_IF_ERROR(check_writable_folder(made.worker.scratch, 0));
  return made;
}

Status check_python_options(const workload::RunRequest& request, const host::Manifest& manifest) {
  if (manifest.language == host::Language::kPython) return ok_status();
  std::vector<std::string_view> given;
  if (!request.python.empty()) given.emplace_back("--python");
  if (!request.requirements.empty()) given.emplace_back("--requirements");
  if (!request.stubs.empty()) given.emplace_back("--stub");
  if (given.empty()) return ok_status();
  return invalid_argument(
      fmt::format("{}: accepted with a backend in Python; {} in {} is one in C++",
                  fmt::join(given, ", "), manifest.hardware_type, quoted(manifest.folder)));
}

Result<std::string> backend_hash(const host::Manifest& manifest,
                                 const PythonEnvironment* environment) {
  if (manifest.language == host::Language::kCpp) return sha256_of_file(manifest.library_path());
  ASSIGN_OR_RETURN(std::vector<ArtifactFile> files, list_artifact(manifest.folder));
  std::erase_if(files, [](const ArtifactFile& file) {
    return file.path.find("__pycache__") != std::string::npos;
  });
  std::string all = hash_of(files);
  if (environment != nullptr) {
    const PythonInterpreter& python = environment->interpreter;
    all += fmt::format("\n{} {} {}\n{}", python.implementation, python.version, python.platform,
                       fmt::join(python.packages, "\n"));
  }
  return sha256_hex(all);
}

}  // namespace assay::controller
