// TorchScript models by LibTorch: the library that module.cc opens for model_format "pt".

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "compile_result.h"
#include "libtorch/script.h"
#include "libtorch/signature.h"
#include "module.h"
#include "on_demand.h"
#include "options.h"
#include "usable_cpus.h"

namespace cpu {
namespace {

namespace fs = std::filesystem;
using assay::backend::CompileJob;
using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Error;
using assay::backend::Inputs;
using assay::backend::LoadRequest;
using assay::backend::Outputs;
using assay::backend::Signature;
using assay::backend::Tensor;
using assay::backend::TensorSpec;

constexpr const char* kModelFile = "model/model.pt";
constexpr const char* kSignatureFile = "signature.json";

class TorchModel : public Model {
 public:
  TorchModel(const LoadRequest& request, const Artifact& artifact, int cpus)
      : script_(request.path(artifact.model), artifact.options, cpus),
        known_(read_signature(request.path(kSignatureFile))) {
    if (known_.fixed_batch == 0 || known_.fixed_batch == request.batch_size) return;
    throw Error(ASSAY_INVALID_ARGUMENT, "the model takes batches of " +
                                            std::to_string(known_.fixed_batch) + " only, not " +
                                            std::to_string(request.batch_size));
  }

  Signature signature() const override { return known_.signature; }

  void predict(const Inputs& inputs, Outputs& outputs) const override {
    std::vector<Tensor> ordered;
    ordered.reserve(known_.order.size());
    for (const std::size_t index : known_.order) ordered.push_back(inputs[index]);
    const ScriptOutputs returned = script_.run(ordered);
    for (std::size_t i = 0; i < known_.keys.size(); ++i) {
      hand_over(returned, place_of(returned, i), i, outputs);
    }
  }

 private:
  std::size_t place_of(const ScriptOutputs& returned, std::size_t index) const {
    if (known_.keys[index].empty()) return index;
    std::size_t place = 0;
    while (place < returned.size() && returned.key(place) != known_.keys[index]) ++place;
    return place;
  }

  void hand_over(const ScriptOutputs& returned, std::size_t place, std::size_t index,
                 Outputs& outputs) const {
    const TensorSpec& spec = known_.signature.outputs[index];
    if (place >= returned.size()) {
      throw Error(ASSAY_INTERNAL, "forward returned no output \"" + spec.name + "\" this time");
    }
    if (returned.dtype(place) != spec.dtype) {
      throw Error(ASSAY_INTERNAL, "output \"" + spec.name + "\": forward returned " +
                                      name_of(returned.dtype(place)) + " this time, and " +
                                      name_of(spec.dtype) + " when it was compiled");
    }
    const std::vector<std::int64_t> shape = returned.shape(place);
    void* const to = outputs.allocate(index, shape.data(), shape.size());
    const std::size_t size_bytes = returned.size_bytes(place);
    if (size_bytes > 0) std::memcpy(to, returned.data(place), size_bytes);
  }

  Script script_;
  ScriptSignature known_;
};

void copy_model(const Document& configs, const std::string& to) {
  const std::string from = configs.text("model_info.model_path");
  std::error_code error;
  fs::create_directories(fs::path(to).parent_path(), error);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (!error) return;
  const bool missing = error == std::errc::no_such_file_or_directory;
  throw Error(missing ? ASSAY_NOT_FOUND : ASSAY_UNKNOWN,
              "cannot copy the model " + from + ": " + error.message());
}

std::string compile_torch(const Document& configs, DataLoader& /*data*/, CompileJob& job,
                          const CompileSetup& setup) {
  Artifact artifact;
  artifact.folder = fs::path(job.path("")).parent_path();
  artifact.format = "pt";
  artifact.model = kModelFile;
  artifact.options = setup.options;

  job.progress(0.0, "copying the model");
  copy_model(configs, job.path(kModelFile));
  job.progress(0.2, "reading and freezing it");
  const Script script(job.path(kModelFile), setup.options, usable_cpu_count());
  job.progress(0.6, "running it once and twice");
  const ScriptSignature signature = learn_signature(script, configs);

  CompileFacts facts;
  facts.signature = signature.signature;
  facts.fixed_batch = signature.fixed_batch;
  facts.framework = "Pytorch";
  facts.precision = executed_by(script, signature, configs);
  facts.precision_source = "as LibTorch recorded them in one run";
  write_signature(job.path(kSignatureFile), signature);
  write_artifact(artifact);
  return compile_result(configs, artifact, facts);
}

std::unique_ptr<Model> load_torch(const LoadRequest& request, const Artifact& artifact,
                                  const LoadSetup& setup) {
  return std::make_unique<TorchModel>(request, artifact, setup.cpus);
}

constexpr Module kTorch = {"pt", &Script::version, &compile_torch, &load_torch};

}  // namespace
}  // namespace cpu

extern "C" __attribute__((visibility("default"))) const cpu::Module* assay_cpu_module(
    const char* format) {
  return std::strcmp(format, cpu::kTorch.format) == 0 ? &cpu::kTorch : nullptr;
}
