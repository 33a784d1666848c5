// TensorFlow SavedModel folders and TFLite files by OpenVINO: the library that module.cc opens for
// these formats. All but the options is the OPENVINO backend's own code.

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "OPENVINO/compile_model.h"
#include "OPENVINO/loaded_model.h"
#include "OPENVINO/openvino_core.h"
#include "OPENVINO/options.h"
#include "module.h"
#include "on_demand.h"
#include "options.h"

namespace cpu {
namespace {

using assay::backend::CompileJob;
using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Error;
using assay::backend::LoadRequest;

// In the artifact: beside this backend's own record lies what the OPENVINO backend would leave.
constexpr const char* kFolder = "openvino";

[[noreturn]] void refuse(const char* option, const std::string& value, const char* only) {
  throw Error(ASSAY_UNIMPLEMENTED, std::string("option ") + option + ": found \"" + value +
                                       "\", but OpenVINO, which runs this model_format, has \"" +
                                       only + "\" alone");
}

// One call at a time, in fp32. OpenVINO has no switch for how far it rewrites a graph.
openvino::Options translated(const Options& options) {
  const Options defaults;
  if (options.graph_optimization != defaults.graph_optimization) {
    refuse("graph_optimization", options.graph_optimization, defaults.graph_optimization.c_str());
  }
  if (options.execution_mode != defaults.execution_mode) {
    refuse("execution_mode", options.execution_mode, defaults.execution_mode.c_str());
  }
  openvino::Options translation;
  translation.inference_precision = "fp32";
  translation.performance_hint = "latency";
  translation.threads = options.intra_op_threads;
  return translation;
}

class OpenvinoModel : public Model {
 public:
  explicit OpenvinoModel(std::unique_ptr<openvino::LoadedModel> model) : model_(std::move(model)) {}

  assay::backend::Signature signature() const override { return model_->signature(); }
  void predict(const assay::backend::Inputs& inputs,
               assay::backend::Outputs& outputs) const override {
    model_->predict(inputs, outputs);
  }

 private:
  std::unique_ptr<openvino::LoadedModel> model_;  // any number of threads may predict at once
};

std::string openvino_version() { return "OpenVINO " + openvino::runtime_build(); }

std::string compile_openvino(const Document& configs, DataLoader& data, CompileJob& job,
                             const CompileSetup& setup) {
  Artifact artifact;
  artifact.folder = job.path("");
  artifact.folder.pop_back();  // the slash
  artifact.format = configs.text("model_info.model_format");
  artifact.model = kFolder;
  artifact.options = setup.options;
  std::string result =
      openvino::compile_model(configs, data, job, translated(setup.options), kFolder);
  write_artifact(artifact);
  return result;
}

std::unique_ptr<Model> load_openvino(const LoadRequest& request, const Artifact& artifact,
                                     const LoadSetup& /*setup*/) {
  LoadRequest inner = request;
  inner.artifact_folder = request.path(artifact.model);
  return std::make_unique<OpenvinoModel>(openvino::load_model(inner));
}

constexpr std::array<Module, 2> kModules = {
    {{"saved_model", &openvino_version, &compile_openvino, &load_openvino},
     {"tflite", &openvino_version, &compile_openvino, &load_openvino}}};

}  // namespace
}  // namespace cpu

extern "C" __attribute__((visibility("default"))) const cpu::Module* assay_cpu_module(
    const char* format) {
  for (const cpu::Module& module : cpu::kModules) {
    if (std::strcmp(format, module.format) == 0) return &module;
  }
  return nullptr;
}
