#include "onnxruntime/onnx_module.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "batch_rule.h"
#include "compile_result.h"
#include "executed_precision.h"
#include "onnxruntime/onnx_copy.h"
#include "onnxruntime/ort.h"
#include "onnxruntime/sample_inputs.h"
#include "onnxruntime/session.h"
#include "usable_cpus.h"

namespace cpu {
namespace {

namespace fs = std::filesystem;
using assay::backend::CompileJob;
using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Error;
using assay::backend::LoadRequest;
using assay::backend::TensorSpec;

constexpr const char* kModelFolder = "model";

// A loaded model with the log it writes to.
class OnnxModel : public Model {
 public:
  OnnxModel(const LogLine& log, std::shared_ptr<OnnxRuntime> runtime, const SessionRequest& request)
      : log_scope_(log), session_(std::move(runtime), request) {}

  assay::backend::Signature signature() const override {
    return {session_.inputs(), session_.outputs()};
  }
  void predict(const assay::backend::Inputs& inputs,
               assay::backend::Outputs& outputs) const override {
    session_.predict(inputs, outputs);
  }
  OnnxSession& session() { return session_; }

 private:
  LogScope log_scope_;
  OnnxSession session_;
};

// What one run of the compiled model told.
struct Trial {
  std::vector<OutputFact> outputs;
  std::optional<ExecutedPrecision> precision;
  std::string failure;  // why there was no such run, "" when there was
};

std::string take_profile(OnnxSession& session) {
  const Ort::AllocatorWithDefaultOptions allocator;
  const fs::path path = session.get().EndProfilingAllocated(allocator).get();
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  std::error_code ignored;
  fs::remove(path, ignored);
  return content.str();
}

Trial run_once(OnnxSession& session, const SampleInputs& inputs) {
  Trial trial;
  const std::vector<Ort::Value> outputs = session.run(inputs.values);
  trial.outputs = session.compare_plans(inputs.values, outputs);
  trial.precision = executed_precision(take_profile(session));
  return trial;
}

// A model may refuse made-up inputs; that is no reason to refuse the model.
Trial try_model(OnnxSession& session, const Document& configs, DataLoader& data) {
  try {
    return run_once(session, sample_inputs(session, configs, data));
  } catch (const Ort::Exception& e) {
    Trial trial;
    trial.failure = e.what();
    take_profile(session);
    return trial;
  }
}

// Nothing that the workload asks for could run: better said now than per batch size.
void refuse_hopeless_batches(const Document& configs, const std::vector<TensorSpec>& inputs) {
  std::string objection;
  for (std::size_t i = 0;; ++i) {
    const std::string key = "workload.batch_sizes." + std::to_string(i);
    if (!configs.has(key)) break;
    const std::string why = batch_objection(inputs, configs, configs.integer(key));
    if (why.empty()) return;
    if (objection.empty()) objection = why;
  }
  if (!objection.empty()) throw Error(ASSAY_INVALID_ARGUMENT, objection);
}

std::string result_of(const Document& configs, const OnnxSession& session, const Artifact& artifact,
                      const Trial& trial) {
  CompileFacts facts;
  facts.signature = {session.inputs(), session.outputs()};
  facts.fixed_batch = fixed_batch(session.inputs(), configs);
  facts.framework = "Onnx";
  facts.precision = trial.precision;
  facts.precision_source = "by ONNX Runtime's profile of one run";
  facts.trial_failure = trial.failure;
  return compile_result(configs, artifact, facts);
}

std::string compile(const Document& configs, DataLoader& data, CompileJob& job,
                    const CompileSetup& setup) {
  Artifact artifact;
  artifact.folder = fs::path(job.path("")).parent_path();
  artifact.format = "onnx";
  artifact.options = setup.options;

  job.progress(0.0, "copying the model");
  const std::string source = configs.text("model_info.model_path");
  artifact.model = std::string(kModelFolder) + "/" + copy_onnx(source, job.path(kModelFolder));

  job.progress(0.3, "building the session");
  OnnxModel model(
      setup.log, OnnxRuntime::open(),
      {job.path(artifact.model), setup.options, usable_cpu_count(), job.path("profile")});
  OnnxSession& session = model.session();
  refuse_hopeless_batches(configs, session.inputs());

  job.progress(0.7, "running it once");
  const Trial trial = try_model(session, configs, data);
  artifact.outputs = trial.outputs;
  session.learn(trial.outputs);
  write_artifact(artifact);
  return result_of(configs, session, artifact, trial);
}

std::unique_ptr<Model> load(const LoadRequest& request, const Artifact& artifact,
                            const LoadSetup& setup) {
  auto model = std::make_unique<OnnxModel>(
      setup.log, OnnxRuntime::open(),
      SessionRequest{request.path(artifact.model), artifact.options, setup.cpus, ""});
  const std::string objection =
      batch_objection(model->session().inputs(), request.configs, request.batch_size);
  if (!objection.empty()) throw Error(ASSAY_INVALID_ARGUMENT, objection);
  model->session().learn(artifact.outputs);
  return model;
}

}  // namespace

std::string onnx_version() { return "ONNX Runtime " + OnnxRuntime::open()->version(); }

std::string compile_onnx(const Document& configs, DataLoader& data, CompileJob& job,
                         const CompileSetup& setup) {
  try {
    return compile(configs, data, job, setup);
  } catch (const Ort::Exception& e) {
    throw as_error(e);
  }
}

std::unique_ptr<Model> load_onnx(const LoadRequest& request, const Artifact& artifact,
                                 const LoadSetup& setup) {
  try {
    return load(request, artifact, setup);
  } catch (const Ort::Exception& e) {
    throw as_error(e);
  }
}

}  // namespace cpu
