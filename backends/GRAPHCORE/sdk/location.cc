#include "sdk/location.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace graphcore {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEnabled = "POPLAR_SDK_ENABLED";
constexpr const char* kUnpacked = "POPLAR_SDK";

bool is_sdk(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "lib" / "libpoplar.so", error);
}

std::vector<fs::path> below(const fs::path& root) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(root, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_directory(error)) folders.push_back(entry->path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// What a variable names, "" for nothing; noted among the places that were looked in.
std::string named_by(const char* variable, SdkLocation& location) {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
  const std::string named = value == nullptr ? "" : value;
  location.looked_in.push_back(variable + (named.empty() ? ", which is not set" : "=" + named));
  return named;
}

}  // namespace

SdkLocation find_sdk() {
  SdkLocation location;
  const auto look = [&](const fs::path& folder) {
    if (!location.found() && is_sdk(folder)) location.folder = folder;
  };
  const std::string enabled = named_by(kEnabled, location);
  if (!enabled.empty()) look(enabled);
  const std::string unpacked = named_by(kUnpacked, location);
  if (unpacked.empty()) return location;
  look(unpacked);
  for (const fs::path& folder : below(unpacked)) {
    look(folder);
    for (const fs::path& inner : below(folder)) look(inner);
  }
  return location;
}

std::string sdk_missing(const SdkLocation& location) {
  std::string places;
  for (const std::string& place : location.looked_in) {
    places += (places.empty() ? "" : ", ") + place;
  }
  return "Poplar SDK not found (looked in " + places +
         "); get it from Graphcore, source its enable.sh, and install the poprt wheel; without it "
         "device=ipu_model runs a model of the chip";
}

}  // namespace graphcore
