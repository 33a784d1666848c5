#include "controller/run_folders.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "workload/output_folder.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "run-";

// 0 for what is no number of a process.
pid_t pid_of(std::string_view digits) {
  pid_t pid = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, pid);
  return error == std::errc() && stop == end && pid > 0 ? pid : 0;
}

// The process that a staging folder belongs to; 0 when it is none.
pid_t owner_of(std::string_view name) {
  return name.starts_with(kPrefix) ? pid_of(name.substr(kPrefix.size())) : 0;
}

// The process that began to write a file and has not finished it; 0 for any other name.
pid_t writer_of(std::string_view name) {
  constexpr std::string_view kPartial = ".partial-";
  constexpr std::string_view kProbe = ".probe-";
  if (name.starts_with(kProbe)) return pid_of(name.substr(kProbe.size()));
  const std::size_t partial = name.rfind(kPartial);
  return partial == std::string_view::npos ? 0 : pid_of(name.substr(partial + kPartial.size()));
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

void remove_stale_partials(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const pid_t owner = writer_of(it->path().filename().string());
    if (owner != 0 && is_gone(owner)) stale.push_back(it->path());
  }
  for (const fs::path& file : stale) fs::remove(file, error);
}

namespace {

Status cannot_make(int error, const fs::path& folder) {
  return errno_status(error, "cannot make folder " + quoted(folder) +
                                 " for the results; --output FOLDER names another place");
}

}  // namespace

FolderGuard::FolderGuard(const fs::path& output)
    : missing_before_(workload::missing_folders(output)) {}

FolderGuard::~FolderGuard() { workload::remove_empty_folders(missing_before_); }

Result<fs::path> FolderGuard::claim(const fs::path& parent, const std::string& name) {
  std::vector<fs::path> missing = workload::missing_folders(parent);
  missing_before_.insert(missing_before_.begin(), missing.begin(), missing.end());
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return cannot_make(error.value(), parent);
  for (int n = 1;; ++n) {
    fs::path folder = parent / (n == 1 ? name : fmt::format("{}-{}", name, n));
    if (::mkdir(folder.c_str(), 0777) == 0) {
      missing_before_.insert(missing_before_.begin(), folder);
      return folder;
    }
    if (errno != EEXIST) return cannot_make(errno, folder);
  }
}

}  // namespace assay::controller
