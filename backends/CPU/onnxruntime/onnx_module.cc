#include "onnxruntime/onnx_module.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "onnxruntime/batch_rule.h"
#include "onnxruntime/executed_precision.h"
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
using Json = nlohmann::ordered_json;

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

Json tensor_map(const std::vector<TensorSpec>& specs) {
  Json map = Json::object();
  for (const TensorSpec& spec : specs) map[spec.name] = spec.shape;
  return map;
}

Json precision_json(const Trial& trial) {
  Json json = Json::object();
  if (!trial.precision) {
    json["note"] = "unknown: a trial run failed: " + trial.failure;
    return json;
  }
  const ExecutedPrecision& executed = *trial.precision;
  json["summary"] = executed.summary();
  for (const std::string& name : executed.precisions()) json[name] = executed.share(name);
  Json rows = Json::array();
  for (const ExecutedOperator& row : executed.operators) {
    rows.push_back({{"op", row.op},
                    {"precision", row.precision},
                    {"arithmetic", row.arithmetic},
                    {"count", row.count},
                    {"provider", row.provider}});
  }
  json["operators"] = std::move(rows);
  json["note"] =
      "share of the arithmetic operators, by ONNX Runtime's profile of one run" +
      (executed.inserted_casts == 0
           ? std::string()
           : "; it converts to FLOAT32 and back around operators that it has no FLOAT16 form of (" +
                 std::to_string(executed.inserted_casts) + " conversions)");
  return json;
}

Json optimizations_json(const Options& options) {
  const auto threads = [](const std::optional<int>& count) {
    return count ? Json(*count) : Json("auto");
  };
  return {{"graph_optimization", options.graph_optimization},
          {"execution_mode", options.execution_mode},
          {"intra_op_threads", threads(options.intra_op_threads)},
          {"inter_op_threads", threads(options.inter_op_threads)}};
}

std::string compile_result(const Document& configs, const OnnxSession& session,
                           const Artifact& artifact, const Trial& trial) {
  const std::int64_t fixed = fixed_batch(session.inputs(), configs);
  Json input_type = Json::array();
  for (const TensorSpec& input : session.inputs()) input_type.push_back(name_of(input.dtype));
  const std::string precision = trial.precision ? trial.precision->summary() : "";

  Json result = {
      {"model", configs.text("model_info.model", configs.text("model_info.name", ""))},
      {"framework", configs.text("model_info.framework", "Onnx")},
      {"compile_precision", precision.empty() ? "unknown" : precision},
      {"optimizations", optimizations_json(artifact.options)},
      {"instance_count", 1},
      {"device_count", 1},
      {"input_type", std::move(input_type)},
      {"max_batch_size", nullptr},
      {"compile_status", "success"},
      {"sg_percent", 100},
      {"segments",
       {{{"sg_idx", 0},
         {"is_fallback", false},
         {"input_tensor_map", tensor_map(session.inputs())},
         {"output_tensor_map", tensor_map(session.outputs())},
         {"compiled_model",
          {{{"compiled_bs", fixed > 0 ? fixed : 1}, {"compiled_obj", artifact.model}}}}}}},
      {"executed_precision", precision_json(trial)}};
  if (fixed > 0) {
    result["max_batch_size"] = fixed;
  } else if (configs.has("model_info.max_batch_size")) {
    result["max_batch_size"] = configs.integer("model_info.max_batch_size");
  }
  return result.dump(2);
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
  return compile_result(configs, session, artifact, trial);
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
