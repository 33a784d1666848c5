#include "controller/loaded_libraries.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "controller/journal.h"

namespace assay::controller {
namespace fs = std::filesystem;
namespace {

// The sixth field, which may hold spaces; "" when there is none.
std::string_view path_of(std::string_view line) {
  const std::size_t slash = line.find('/');
  return slash == std::string_view::npos ? std::string_view() : line.substr(slash);
}

bool is_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.ends_with(".so") || name.find(".so.") != std::string_view::npos;
}

}  // namespace

std::vector<std::string> libraries_in_maps(std::string_view maps) {
  std::set<std::string> found;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const std::string_view path = path_of(maps.substr(0, end));
    if (!path.empty() && is_library(path)) found.emplace(path);
    maps.remove_prefix(std::min(end + 1, maps.size()));
  }
  return {found.begin(), found.end()};
}

std::string loaded_libraries(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  const std::string maps{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> parts;
  for (const std::string& path : libraries_in_maps(maps)) {
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0) continue;
    parts.push_back(fmt::format("{} {} {}.{:09}", path, facts.st_size, facts.st_mtim.tv_sec,
                                facts.st_mtim.tv_nsec));
  }
  return parts.empty() ? std::string() : key_of(parts);
}

Result<std::string> libraries_in_folder(const fs::path& folder) {
  std::error_code error;
  std::set<fs::path> libraries;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (is_library(entry->path().native())) libraries.insert(entry->path());
  }
  if (error) return unavailable(fmt::format("cannot list {}: {}", quoted(folder), error.message()));
  std::vector<std::string> parts;
  for (const fs::path& library : libraries) {
    ASSIGN_OR_RETURN(std::string hash, sha256_of_file(library));
    parts.push_back(library.filename());
    parts.push_back(std::move(hash));
  }
  return key_of(parts);
}

}  // namespace assay::controller
