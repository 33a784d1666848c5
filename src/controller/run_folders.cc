#include "controller/run_folders.h"

#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>

#include "workload/output_folder.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "run-";

// The process that a staging folder belongs to; 0 when it is none.
pid_t owner_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return 0;
  pid_t pid = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, pid);
  return error == std::errc() && stop == end && pid > 0 ? pid : 0;
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

fs::path staging_folder(const fs::path& cache, pid_t pid) {
  return cache / "tmp" / fmt::format("{}{}", kPrefix, pid);
}

void remove_stale_staging(const fs::path& cache) {
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator it(cache / "tmp", error), end; !error && it != end;
       it.increment(error)) {
    const pid_t owner = owner_of(it->path().filename().string());
    if (owner != 0 && is_gone(owner)) stale.push_back(it->path());
  }
  for (const fs::path& folder : stale) fs::remove_all(folder, error);
}

FolderGuard::FolderGuard(const fs::path& output)
    : missing_before_(workload::missing_folders(output)) {}

FolderGuard::~FolderGuard() {
  std::error_code ignored;  // what is not empty is a run's result
  for (const fs::path& folder : missing_before_) fs::remove(folder, ignored);
}

}  // namespace assay::controller
