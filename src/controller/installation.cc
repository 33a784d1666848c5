#include "controller/installation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "base/file.h"
#include "host/backend_paths.h"
#include "host/manifest.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

bool is_root(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / "workloads", error) &&
         fs::is_directory(folder / "model_zoo", error);
}

Result<fs::path> find_root(const fs::path& executable) {
  if (const std::string named = environment("ASSAY_ROOT"); !named.empty()) {
    if (is_root(named)) return fs::absolute(named).lexically_normal();
    return not_found(fmt::format("ASSAY_ROOT is {}, which has no workloads/ and model_zoo/",
                                 quoted(fs::path(named))));
  }
  const fs::path installed = executable.parent_path().parent_path() / "share" / "assay";
  if (is_root(installed)) return installed;
  for (fs::path folder = executable.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (is_root(folder)) return folder;
  }
  return not_found(fmt::format("no workloads/ and model_zoo/ in {} nor in any folder above {}",
                               quoted(installed), quoted(executable)));
}

fs::path cache_folder() {
  if (const std::string named = environment("ASSAY_CACHE"); !named.empty()) return named;
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return fs::path(xdg) / "assay";
  }
  const std::string home = environment("HOME");
  return home.empty() ? fs::temp_directory_path() / "assay-cache"
                      : fs::path(home) / ".cache" / "assay";
}

// `candidates` made absolute, and the checkout's own folder; those that exist.
std::vector<fs::path> backend_folders(std::vector<fs::path> candidates, const fs::path& root) {
  candidates.push_back(root / "backends");
  std::vector<fs::path> folders;
  std::error_code error;
  for (const fs::path& candidate : candidates) {
    if (fs::is_directory(candidate, error)) {
      folders.push_back(fs::absolute(candidate).lexically_normal());
    }
  }
  return folders;
}

fs::path worker_program(const fs::path& executable) {
  const fs::path installed =
      executable.parent_path().parent_path() / "libexec" / "assay" / "assay-worker";
  std::error_code error;
  return fs::exists(installed, error) ? installed : executable.parent_path() / "assay-worker";
}

}  // namespace

Result<fs::path> own_executable() {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) return errno_status(error.value(), "cannot find the running program");
  return path;
}

Result<Installation> find_installation(const fs::path& executable) {
  Installation found;
  ASSIGN_OR_RETURN(found.root, find_root(executable));
  found.workloads = found.root / "workloads";
  found.model_zoo = found.root / "model_zoo";
  found.datasets = found.root / "datasets";
  const fs::path program_folder = executable.parent_path();
  found.backends = backend_folders(host::backend_search_paths(program_folder), found.root);
  found.own_backends = backend_folders(host::own_backend_paths(program_folder), found.root);
  found.fetch_script = found.root / "tools" / "fetch" / "fetch.py";
  found.worker = worker_program(executable);
  found.python = found.root / "python";
  found.cache = cache_folder();
  return found;
}

}  // namespace assay::controller
