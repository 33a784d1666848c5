#include "controller/installation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"

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

// Folders of backends: the user's, those built beside the program, those installed with it.
std::vector<fs::path> backend_folders(const fs::path& root, const fs::path& executable) {
  std::vector<fs::path> folders;
  const std::string named = environment("ASSAY_BACKENDS");
  std::string_view rest = named;
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    if (const std::string_view entry = rest.substr(0, end); !entry.empty()) {
      folders.push_back(fs::absolute(fs::path(entry)).lexically_normal());
    }
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  std::error_code error;
  const fs::path prefix = executable.parent_path().parent_path();
  for (const fs::path& candidate :
       {prefix / "backends", prefix / "lib" / "assay" / "backends", root / "backends"}) {
    if (fs::is_directory(candidate, error)) folders.push_back(candidate);
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
  found.backends = backend_folders(found.root, executable);
  found.fetch_script = found.root / "tools" / "fetch" / "fetch.py";
  found.worker = worker_program(executable);
  found.cache = cache_folder();
  return found;
}

}  // namespace assay::controller
