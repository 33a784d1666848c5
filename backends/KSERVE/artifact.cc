#include "artifact.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "signature.h"

namespace kserve {
namespace {

using assay::backend::Error;

Artifact parse(const Json& json) {
  Artifact artifact;
  artifact.options = options_from_json(json.at("options"));
  const Json& server = json.at("server");
  artifact.server = {server.at("name").get<std::string>(), server.at("version").get<std::string>(),
                     server.at("extensions").get<std::vector<std::string>>()};
  artifact.platform = json.at("platform").get<std::string>();
  artifact.declared = signature_from_json(json.at("declared"));
  artifact.signature = signature_from_json(json.at("signature"));
  artifact.binary_answers = json.at("binary_answers").get<bool>();
  artifact.trial = json.at("trial").get<std::string>();
  return artifact;
}

}  // namespace

void write_artifact(const Artifact& artifact, const std::string& path) {
  const Json json = {{"options", to_json(artifact.options)},
                     {"server",
                      {{"name", artifact.server.name},
                       {"version", artifact.server.version},
                       {"extensions", artifact.server.extensions}}},
                     {"platform", artifact.platform},
                     {"declared", to_json(artifact.declared)},
                     {"signature", to_json(artifact.signature)},
                     {"binary_answers", artifact.binary_answers},
                     {"trial", artifact.trial}};
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
  file.close();
  if (!file) throw Error(ASSAY_RESOURCE_EXHAUSTED, "cannot write " + path);
}

Artifact read_artifact(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ASSAY_NOT_FOUND, "the artifact has no " + path);
  try {
    return parse(Json::parse(file));
  } catch (const std::exception& e) {
    throw Error(ASSAY_DATA_LOSS, path + " was not written by this backend: " + e.what());
  }
}

}  // namespace kserve
