#include "sdk/location.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace graphcore {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEnabled = "POPLAR_SDK_ENABLED";

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

}  // namespace

SdkLocation find_sdk(const std::vector<std::string>& roots) {
  SdkLocation location;
  const auto look = [&](const fs::path& folder, const std::string& named) {
    location.looked_in.push_back(named);
    if (!location.found() && is_sdk(folder)) location.folder = folder;
  };
  const char* enabled = std::getenv(kEnabled);  // NOLINT(concurrency-mt-unsafe)
  if (enabled != nullptr && *enabled != '\0') {
    look(enabled, std::string(kEnabled) + "=" + enabled);
  } else {
    location.looked_in.push_back(std::string(kEnabled) + ", which is not set");
  }
  for (const std::string& root : roots) {
    location.looked_in.push_back(root);
    for (const fs::path& folder : below(root)) {
      if (!location.found() && is_sdk(folder)) location.folder = folder;
      for (const fs::path& inner : below(folder)) {
        if (!location.found() && is_sdk(inner)) location.folder = inner;
      }
    }
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
