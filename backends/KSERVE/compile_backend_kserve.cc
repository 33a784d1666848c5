#include "compile_backend_kserve.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "artifact.h"
#include "element.h"
#include "signature.h"
#include "trial.h"

namespace kserve {
namespace {

using assay::backend::CompileJob;
using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Error;
using assay::backend::TensorSpec;

Json model_info_of(const Document& configs) {
  const Json json = Json::parse(configs.json(), nullptr, /*allow_exceptions=*/false);
  return json.is_object() && json.contains("model_info") ? json["model_info"] : Json::object();
}

Artifact examine(const Document& configs, DataLoader& data, const CompileJob& job) {
  Artifact artifact;
  artifact.options = options_from_answers(configs);
  const Json model_info = model_info_of(configs);
  Connection connection(artifact.options, read_token(artifact.options));
  job.progress(0.1, "asking the server");
  check_ready(connection, artifact.options);
  artifact.server = server_info(connection);
  Metadata metadata = model_metadata(connection, artifact.options);
  artifact.platform = std::move(metadata.platform);
  artifact.declared = std::move(metadata.signature);
  artifact.signature = agreed_signature(artifact.declared, model_info);
  job.progress(0.5, "one trial inference");
  settle_by_trial(connection, model_info, data, artifact);
  // What the trial showed of outputs is held against the model info too.
  artifact.signature = agreed_signature(artifact.signature, model_info);
  return artifact;
}

Json tensor_map(const std::vector<TensorSpec>& specs) {
  Json map = Json::object();
  for (const TensorSpec& spec : specs) map[spec.name] = spec.shape;
  return map;
}

std::string compile_result(const Document& configs, const Artifact& artifact) {
  Json input_type = Json::array();
  for (const TensorSpec& input : artifact.signature.inputs) {
    input_type.push_back(assay_name(input.dtype));
  }
  Json optimizations = to_json(artifact.options);
  optimizations["remote"] = true;
  optimizations["server"] = artifact.server.name + ' ' + artifact.server.version;
  optimizations["platform"] = artifact.platform;
  optimizations["extensions"] = artifact.server.extensions;
  optimizations["trial"] = artifact.trial;
  Json result = {{"model", artifact.options.model},
                 {"framework", configs.text("model_info.framework", "Remote")},
                 {"compile_precision", "unknown"},  // the protocol has no word for it
                 {"optimizations", std::move(optimizations)},
                 {"instance_count", artifact.options.instances},
                 {"device_count", 1},
                 {"input_type", std::move(input_type)},
                 {"max_batch_size", nullptr},
                 {"compile_status", "success"},
                 {"sg_percent", 100},
                 {"segments",
                  {{{"sg_idx", 0},
                    {"is_fallback", false},
                    {"input_tensor_map", tensor_map(artifact.signature.inputs)},
                    {"output_tensor_map", tensor_map(artifact.signature.outputs)},
                    {"compiled_model", {{{"compiled_bs", 1}, {"compiled_obj", kArtifactFile}}}}}}}};
  if (configs.has("model_info.max_batch_size")) {
    result["max_batch_size"] = configs.integer("model_info.max_batch_size");
  }
  return result.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string CompileBackendKSERVE::compile(const Document& configs, DataLoader& dataloader,
                                          CompileJob& job) {
  const Artifact artifact = examine(configs, dataloader, job);
  write_artifact(artifact, job.path(kArtifactFile));
  return compile_result(configs, artifact);
}

}  // namespace kserve
