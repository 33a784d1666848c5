#include "artifact.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <openvino/runtime/properties.hpp>
#include <utility>

#include "openvino_core.h"

namespace openvino {
namespace {

using assay::backend::Error;
using Json = nlohmann::ordered_json;

std::string record_path(const std::string& folder) { return folder + "/options.json"; }

Artifact parse_artifact(const Json& json, const std::string& folder) {
  Artifact artifact;
  artifact.folder = folder;
  artifact.model = json.at("model").get<std::string>();
  for (const Json& object : json.at("compiled")) {
    artifact.compiled.push_back(
        {object.at("batch_size").get<std::int64_t>(), object.at("file").get<std::string>()});
  }
  artifact.requirements = json.at("requirements").get<std::string>();
  artifact.build = json.at("build").get<std::string>();
  artifact.device = json.at("device").get<std::string>();
  artifact.precision = json.at("precision").get<std::string>();
  artifact.inputs = json.at("inputs").get<std::vector<std::string>>();
  artifact.outputs = json.at("outputs").get<std::vector<std::string>>();
  artifact.follows_batch = json.at("follows_batch").get<bool>();
  artifact.options = options_from_record(
      [&](const char* name) { return json.at("options").at(name).get<std::string>(); });
  return artifact;
}

}  // namespace

const CompiledBatch* Artifact::object_for(std::int64_t batch_size) const {
  const auto found =
      std::find_if(compiled.begin(), compiled.end(),
                   [&](const CompiledBatch& object) { return object.batch_size == batch_size; });
  return found == compiled.end() ? nullptr : &*found;
}

void write_artifact(const Artifact& artifact) {
  Json compiled = Json::array();
  for (const CompiledBatch& object : artifact.compiled) {
    compiled.push_back({{"batch_size", object.batch_size}, {"file", object.file}});
  }
  const Json json = {{"options",
                      {{"inference_precision", artifact.options.inference_precision},
                       {"performance_hint", artifact.options.performance_hint},
                       {"streams", count_text(artifact.options.streams)},
                       {"threads", count_text(artifact.options.threads)}}},
                     {"model", artifact.model},
                     {"compiled", std::move(compiled)},
                     {"requirements", artifact.requirements},
                     {"build", artifact.build},
                     {"device", artifact.device},
                     {"precision", artifact.precision},
                     {"inputs", artifact.inputs},
                     {"outputs", artifact.outputs},
                     {"follows_batch", artifact.follows_batch}};
  const std::string path = record_path(artifact.folder);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json.dump(2) << '\n';
  file.close();
  if (!file) throw Error(ASSAY_RESOURCE_EXHAUSTED, "cannot write " + path);
}

Artifact read_artifact(const std::string& folder) {
  const std::string path = record_path(folder);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "the artifact has no " + path);
  try {
    return parse_artifact(Json::parse(file), folder);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ASSAY_DATA_LOSS, path + " was not written by this backend: " + e.what());
  }
}

void check_fits_here(const Artifact& artifact) {
  const auto fits = core().get_property(kDevice, ov::compatibility_check,
                                        {{ov::runtime_requirements.name(), artifact.requirements}});
  const bool same_build = artifact.build == runtime_build();
  if (same_build && fits == ov::CompatibilityCheck::SUPPORTED) return;
  throw Error(ASSAY_FAILED_PRECONDITION,
              "the artifact was compiled by OpenVINO " + artifact.build + " for " +
                  artifact.device + " (" + artifact.requirements + "); here is OpenVINO " +
                  runtime_build() + " on " + device_name() + ": compile again");
}

}  // namespace openvino
