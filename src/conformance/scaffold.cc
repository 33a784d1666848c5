#include "conformance/scaffold.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <system_error>

#include "base/file.h"
#include "conformance/templates.h"

namespace assay::conformance {
namespace fs = std::filesystem;
namespace {

struct File {
  std::string_view name;  // with @HW@ and @hw@ too
  const std::string_view* content;
};

constexpr std::string_view kNoQuestions = "[]\n";
constexpr std::string_view kRequirements = "numpy\n";

const std::array<File, 8> kCppFiles = {{
    {"CMakeLists.txt", &cpp_cmakelists_in},
    {"manifest.json", &cpp_manifest_in},
    {"compile_backend_@hw@.h", &cpp_compile_h_in},
    {"compile_backend_@hw@.cc", &cpp_compile_cc_in},
    {"runtime_backend_@hw@.h", &cpp_runtime_h_in},
    {"runtime_backend_@hw@.cc", &cpp_runtime_cc_in},
    {"plugin.cc", &cpp_plugin_in},
    {"README.md", &cpp_readme_in},
}};
const std::array<File, 6> kPythonFiles = {{
    {"manifest.json", &py_manifest_in},
    {"compile_backend_@hw@.py", &py_compile_in},
    {"runtime_backend_@hw@.py", &py_runtime_in},
    {"@HW@.json", &kNoQuestions},
    {"requirements.txt", &kRequirements},
    {"README.md", &py_readme_in},
}};

struct Language {
  std::string_view name;
  std::span<const File> files;
};
const std::array<Language, 2> kLanguages = {{{"cpp", kCppFiles}, {"python", kPythonFiles}}};

Status check_name(std::string_view name) {
  const auto is_part = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool sound =
      !name.empty() && name[0] >= 'A' && name[0] <= 'Z' && std::ranges::all_of(name, is_part);
  if (sound) return ok_status();
  return invalid_argument(fmt::format(
      "\"{}\" is no hardware type, accepted: upper case letters, digits and _, a letter first",
      name));
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

std::string filled(std::string_view text, std::string_view hardware_type) {
  std::string lower(hardware_type);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  std::string result(text);
  replace_all(result, "@HW@", hardware_type);
  replace_all(result, "@hw@", lower);
  return result;
}

}  // namespace

Result<std::vector<fs::path>> write_new_backend(std::string_view hardware_type,
                                                std::string_view language, const fs::path& parent) {
  RETURN_IF_ERROR(check_name(hardware_type));
  const auto* const chosen = std::ranges::find(kLanguages, language, &Language::name);
  if (chosen == kLanguages.end()) {
    return invalid_argument(
        fmt::format("--language: found \"{}\", accepted: cpp, python", language));
  }
  const fs::path folder = parent / hardware_type;
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    return already_exists(
        fmt::format("{} is there already, accepted: a new or empty folder", quoted(folder)));
  }
  fs::create_directories(folder, error);
  if (error) return errno_status(error.value(), "cannot make " + quoted(folder));
  std::vector<fs::path> written;
  for (const File& file : chosen->files) {
    written.push_back(folder / filled(file.name, hardware_type));
    RETURN_IF_ERROR(write_file_atomic(written.back(), filled(*file.content, hardware_type)));
  }
  return written;
}

}  // namespace assay::conformance
