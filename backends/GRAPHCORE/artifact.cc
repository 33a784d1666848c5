#include "artifact.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "sha256.h"

namespace graphcore {
namespace {

namespace fs = std::filesystem;
using assay::backend::Error;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "assay-ipu-model-artifact";
constexpr const char* kIndexFile = "artifact.json";

struct PartType {
  const char* type;
  const char* file;
};
constexpr std::array<PartType, 8> kPartTypes = {{{"anchors", "anchors.json"},
                                                 {"graph", "graph.onnx"},
                                                 {"lowering", "lowering.json"},
                                                 {"options", "options.json"},
                                                 {"plan", "plan.json"},
                                                 {"toolchain", "toolchain.json"},
                                                 {"weight_index", "weight_index.json"},
                                                 {"weights", "weights.bin"}}};

const PartType* find_type(std::string_view type) {
  const auto* const found = std::find_if(kPartTypes.begin(), kPartTypes.end(),
                                         [&](const PartType& row) { return type == row.type; });
  return found == kPartTypes.end() ? nullptr : found;
}

[[noreturn]] void refuse_index(const std::string& why) {
  throw Error(ASSAY_DATA_LOSS, std::string(kIndexFile) + ": " + why);
}

Part parse_part(const Json& json) {
  Part part{json.at("type").get<std::string>(), json.at("file").get<std::string>(),
            json.at("size_bytes").get<std::uint64_t>(), json.at("sha256").get<std::string>()};
  const PartType* const type = find_type(part.type);
  if (type == nullptr) refuse_index("part type \"" + part.type + "\" is not known");
  if (part.file != type->file) {
    refuse_index("part \"" + part.type + "\": found file \"" + part.file +
                 "\", accepted: " + type->file);
  }
  if (part.sha256.size() != 64)
    refuse_index("part \"" + part.type + "\": sha256 has not 64 digits");
  return part;
}

Index parse_members(const Json& json) {
  if (json.at("format") != kFormat) refuse_index("format is not " + std::string(kFormat));
  if (json.at("version") != kArtifactVersion) {
    refuse_index("found version " + json.at("version").dump() + ", this backend reads " +
                 std::to_string(kArtifactVersion) + ": compile again");
  }
  Index index;
  index.cache_key = json.at("cache_key").get<std::string>();
  std::set<std::string> seen;
  for (const Json& each : json.at("parts")) {
    index.parts.push_back(parse_part(each));
    if (!seen.insert(index.parts.back().type).second) {
      refuse_index("part \"" + index.parts.back().type + "\" is there twice");
    }
  }
  for (const PartType& row : kPartTypes) {
    if (seen.count(row.type) == 0)
      refuse_index("part \"" + std::string(row.type) + "\" is missing");
  }
  return index;
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "the artifact has no " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Whole or not at all.
void write_whole(const std::string& path, const std::string& bytes) {
  const std::string partial = path + ".partial";
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(partial, path, error);
  if (!file || error) throw Error(ASSAY_RESOURCE_EXHAUSTED, "cannot write " + path);
}

}  // namespace

Index parse_index(std::string_view text) {
  try {
    return parse_members(Json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    refuse_index(e.what());
  }
}

std::string index_text(const Index& index) {
  Json parts = Json::array();
  for (const Part& part : index.parts) {
    parts.push_back({{"type", part.type},
                     {"file", part.file},
                     {"size_bytes", part.size_bytes},
                     {"sha256", part.sha256}});
  }
  const Json json = {{"format", kFormat},
                     {"version", kArtifactVersion},
                     {"simulated", true},
                     {"note", "an artifact of Assay's model of the chip; not PopEF"},
                     {"cache_key", index.cache_key},
                     {"parts", std::move(parts)}};
  return json.dump(2) + "\n";
}

void write_parts(const std::string& folder, const std::map<std::string, std::string>& parts,
                 const std::string& cache_key) {
  fs::create_directories(folder);
  Index index;
  index.cache_key = cache_key;
  for (const auto& [type, bytes] : parts) {
    const PartType* const row = find_type(type);
    if (row == nullptr) throw Error(ASSAY_INTERNAL, "part type \"" + type + "\" is not known");
    write_whole(folder + "/" + row->file, bytes);
    index.parts.push_back({type, row->file, bytes.size(), sha256(bytes)});
  }
  write_whole(folder + "/" + kIndexFile, index_text(index));
}

std::map<std::string, std::string> read_parts(const std::string& folder, Index& index) {
  index = parse_index(read_whole(folder + "/" + kIndexFile));
  std::map<std::string, std::string> parts;
  for (const Part& part : index.parts) {
    std::string bytes = read_whole(folder + "/" + part.file);
    const std::string found = sha256(bytes);
    if (bytes.size() != part.size_bytes || found != part.sha256) {
      throw Error(ASSAY_DATA_LOSS, "part " + part.type + " (" + folder + "/" + part.file +
                                       "): found " + std::to_string(bytes.size()) +
                                       " bytes of SHA-256 " + found + ", artifact.json says " +
                                       std::to_string(part.size_bytes) + " bytes of " +
                                       part.sha256 + ": compile again");
    }
    parts[part.type] = std::move(bytes);
  }
  return parts;
}

}  // namespace graphcore
