#include "cache.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "artifact.h"
#include "onnxruntime/onnx_copy.h"
#include "sha256.h"

namespace graphcore {
namespace {

namespace fs = std::filesystem;
using assay::backend::Document;
using assay::backend::Error;

constexpr const char* kResultFile = "compile_result.json";

std::string read_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

// A length in front of each part keeps two lists of parts from meeting in the same bytes.
void add(std::string& text, const std::string& part) {
  text += std::to_string(part.size()) + ":" + part;
}

fs::path place_of(const Options& options, const std::string& key) {
  return fs::path(options.cache_folder) / key;
}

}  // namespace

std::string cache_key(const Document& configs, const Options& options,
                      const std::string& toolchain) {
  const fs::path model = configs.text("model_info.model_path");
  const std::string bytes = read_whole(model);
  std::string text;
  add(text, sha256(bytes));
  for (const std::string& location : cpu::external_locations(bytes)) {
    add(text, location);
    add(text, sha256(read_whole(model.parent_path() / location)));
  }
  for (const OptionRow& row : option_rows(options)) {
    if (row.name == "cache") continue;
    add(text, row.name);
    add(text, row.requested);
  }
  auto json = nlohmann::json::parse(configs.json());
  json["model_info"].erase("model_path");
  json.erase("interact_info");
  add(text, json.dump());  // keys in order
  add(text, toolchain);
  return sha256(text);
}

bool take_from_cache(const Options& options, const std::string& key, const std::string& folder,
                     std::string& compile_result) {
  if (options.cache_folder.empty()) return false;
  const fs::path place = place_of(options, key);
  if (!fs::exists(place / kResultFile)) return false;
  try {
    Index index;
    const auto parts = read_parts(place.string(), index);
    if (index.cache_key != key) return false;
    compile_result = read_whole(place / kResultFile);
    write_parts(folder, parts, key);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void put_into_cache(const Options& options, const std::string& key, const std::string& folder,
                    const std::string& compile_result) {
  if (options.cache_folder.empty()) return;
  const fs::path place = place_of(options, key);
  const fs::path partial = place.string() + "." + std::to_string(getpid()) + ".partial";
  std::error_code error;
  fs::create_directories(partial, error);
  fs::copy(folder, partial, fs::copy_options::recursive, error);
  if (!error) {
    std::ofstream file(partial / kResultFile, std::ios::binary | std::ios::trunc);
    file << compile_result;
    file.close();
    if (file) {
      fs::remove_all(place, error);
      fs::rename(partial, place, error);
      return;
    }
  }
  fs::remove_all(partial, error);
}

}  // namespace graphcore
