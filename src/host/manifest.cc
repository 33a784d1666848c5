#include "host/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/json_file.h"
#include "base/json_schema.h"
#include "host/backend_paths.h"
#include "host/schemas.h"

namespace assay::host {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifestName = "manifest.json";

struct PolicyName {
  const char* name;
  WorkerPolicy policy;
};
constexpr std::array<PolicyName, 3> kPolicies = {{
    {"per_phase", WorkerPolicy::kPerPhase},
    {"per_row", WorkerPolicy::kPerRow},
    {"per_run", WorkerPolicy::kPerRun},
}};

WorkerPolicy policy_of(const std::string& name) {
  const auto* found = std::find_if(kPolicies.begin(), kPolicies.end(),
                                   [&](const PolicyName& row) { return name == row.name; });
  return found == kPolicies.end() ? WorkerPolicy::kPerPhase : found->policy;
}

struct LanguageName {
  std::string_view name;
  Language language;
};
constexpr std::array<LanguageName, 2> kLanguages = {{
    {"cpp", Language::kCpp},
    {"python", Language::kPython},
}};

Language language_of(const std::string& name) {
  return name == kLanguages[1].name ? Language::kPython : Language::kCpp;
}

const Result<JsonSchema>& schema() {
  static const Result<JsonSchema> kSchema = JsonSchema::compile(manifest_schema_json);
  return kSchema;
}

// Nothing but a list can be questions: the file is the vendor's, and may say something else to
// them.
bool is_list_of_questions(const fs::path& path) {
  const Result<JsonFile> file = JsonFile::read(path);
  return file.ok() && file->value().is_array();
}

std::string default_profile(const fs::path& folder, const std::string& hardware_type) {
  const std::string name = hardware_type + ".json";
  std::error_code ignored;
  return fs::exists(folder / name, ignored) ? name : "";
}

// Of a document that the schema accepts.
Manifest from_json(const Json& json, const fs::path& folder) {
  Manifest manifest;
  manifest.folder = folder;
  manifest.hardware_type = json.at("hardware_type").get<std::string>();
  manifest.language = language_of(json.value("language", "cpp"));
  manifest.library = json.value("library", "");
  manifest.interface_major = json.value("interface_major", std::uint32_t{0});
  manifest.description = json.at("description").get<std::string>();
  manifest.environment = json.value("environment", std::map<std::string, std::string>());
  manifest.exclusive_device = json.value("exclusive_device", false);
  manifest.startup_cost_ms = json.value("startup_cost_ms", std::int64_t{0});
  if (json.contains("licence_seats")) {
    manifest.licence_seats = json.at("licence_seats").get<std::int64_t>();
  }
  const bool python = manifest.language == Language::kPython;
  manifest.worker_policy = policy_of(json.value("worker_policy", python ? "per_run" : "per_phase"));
  manifest.profile = json.contains("profile") ? json.at("profile").get<std::string>()
                                              : default_profile(folder, manifest.hardware_type);
  manifest.internal = json.value("internal", false);
  return manifest;
}

// An absolute form without a trailing separator, so that filename() is the folder's name.
fs::path tidy(const fs::path& folder) {
  const fs::path absolute = fs::absolute(folder).lexically_normal();
  return absolute.has_filename() ? absolute : absolute.parent_path();
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_python_backend(const fs::path& folder) {
  const std::string name = lower(tidy(folder).filename().string());
  std::error_code ignored;
  return fs::exists(folder / ("compile_backend_" + name + ".py"), ignored);
}

bool is_backend(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kManifestName, ignored) || is_python_backend(folder);
}

std::vector<fs::path> backend_folders(const fs::path& path) {
  std::vector<fs::path> folders;
  std::error_code failed;
  for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
    if (is_backend(it->path())) folders.push_back(it->path());
  }
  return folders;
}

// Of a folder as vendors publish them.
Manifest python_manifest(const fs::path& folder) {
  Manifest manifest;
  manifest.folder = folder;
  manifest.hardware_type = folder.filename().string();
  manifest.language = Language::kPython;
  manifest.description = "A Python backend in " + quoted(folder) + ".";
  manifest.worker_policy = WorkerPolicy::kPerRun;
  const std::string profile = default_profile(folder, manifest.hardware_type);
  if (!profile.empty() && is_list_of_questions(folder / profile)) manifest.profile = profile;
  return manifest;
}

// What each language needs and the schema cannot say.
void check_language(const JsonFile& file, std::vector<Problem>& problems) {
  const Json& json = file.value();
  if (!json.is_object()) return;
  const bool python = json.contains("language") && json["language"] == "python";
  // Of a language that is none, it is not known what is needed.
  if (json.contains("language") && !python && json["language"] != "cpp") return;
  for (const char* key : {"library", "interface_major"}) {
    if (!python && !json.contains(key)) {
      problems.push_back(file.problem(
          fmt::format("/{}", key),
          "missing, accepted: what a backend in C++ names; or \"language\": \"python\""));
    }
    if (python && json.contains(key)) {
      problems.push_back(file.problem(fmt::format("/{}", key),
                                      "found with \"language\": \"python\", which has none"));
    }
  }
}

}  // namespace

std::string_view name_of(Language language) {
  return kLanguages[static_cast<std::size_t>(language)].name;
}

Result<Manifest> read_manifest(const fs::path& folder) {
  const fs::path absolute = tidy(folder);
  std::error_code ignored;
  if (!fs::exists(absolute / kManifestName, ignored) && is_python_backend(absolute)) {
    return python_manifest(absolute);
  }
  ASSIGN_OR_RETURN(const JsonFile file, JsonFile::read(absolute / kManifestName));
  if (!schema().ok()) return schema().status();
  std::vector<Problem> problems = schema()->check(file);
  check_language(file, problems);
  const std::string expected = absolute.filename().string();
  const Json& json = file.value();
  if (json.is_object() && json.contains("hardware_type") && json["hardware_type"] != expected) {
    problems.push_back(
        file.problem("/hardware_type", fmt::format("found {}, the folder's name is \"{}\"",
                                                   json["hardware_type"].dump(), expected)));
  }
  RETURN_IF_ERROR(to_status(std::move(problems)));
  try {
    return from_json(json, absolute);
  } catch (const Json::exception& e) {
    return invalid_argument(fmt::format("{}: {}", quoted(absolute / kManifestName), e.what()));
  }
}

std::vector<FoundBackend> find_backends(const std::vector<fs::path>& search_paths) {
  std::vector<FoundBackend> found;
  for (const fs::path& path : search_paths) {
    for (const fs::path& folder : backend_folders(path)) {
      const std::string name = tidy(folder).filename().string();
      const bool known = std::any_of(found.begin(), found.end(), [&](const FoundBackend& backend) {
        return backend.hardware_type == name;
      });
      if (!known) found.push_back({name, read_manifest(folder)});
    }
  }
  std::sort(found.begin(), found.end(), [](const FoundBackend& a, const FoundBackend& b) {
    return a.hardware_type < b.hardware_type;
  });
  return found;
}

Result<Manifest> find_backend(std::string_view hardware_type,
                              const std::vector<fs::path>& search_paths) {
  std::vector<std::string> names;
  for (FoundBackend& backend : find_backends(search_paths)) {
    if (backend.hardware_type == hardware_type) return std::move(backend.manifest);
    if (!backend.manifest.ok() || !backend.manifest->internal) {
      names.push_back(backend.hardware_type);
    }
  }
  if (!names.empty()) {
    return not_found(fmt::format("no backend for hardware type \"{}\"; known: {}", hardware_type,
                                 fmt::join(names, ", ")));
  }
  std::vector<std::string> looked;
  looked.reserve(search_paths.size());
  for (const fs::path& path : search_paths) looked.push_back(quoted(path));
  return not_found(fmt::format("no backend for hardware type \"{}\": there is none at all in {}",
                               hardware_type, fmt::join(looked, ", ")));
}

Result<fs::path> search_path_of(const fs::path& named) {
  const fs::path absolute = tidy(named);
  std::error_code error;
  if (!fs::is_directory(absolute, error)) {
    if (fs::exists(absolute, error)) {
      return not_found(fmt::format("{} is a file, its folder is wanted", quoted(absolute)));
    }
    return not_found(fmt::format("there is no folder {}", quoted(absolute)));
  }
  if (is_backend(absolute)) return absolute.parent_path();
  if (!backend_folders(absolute).empty()) return absolute;
  return not_found(fmt::format(
      "{} is no backend and holds none; a backend is a folder named as its hardware type, with "
      "manifest.json or compile_backend_<hardware type in lower case>.py",
      quoted(absolute)));
}

std::vector<fs::path> backend_search_paths(const fs::path& program_folder) {
  std::vector<fs::path> paths;
  // The environment is read once, before any thread is started.
  const char* const named = std::getenv("ASSAY_BACKENDS");  // NOLINT(concurrency-mt-unsafe)
  std::string_view rest = named == nullptr ? "" : named;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(':'));
    if (!one.empty()) paths.emplace_back(one);
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  }
  std::ranges::copy(own_backend_paths(program_folder), std::back_inserter(paths));
  return paths;
}

}  // namespace assay::host
