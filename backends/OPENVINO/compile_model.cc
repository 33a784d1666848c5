#include "compile_model.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <openvino/core/graph_util.hpp>
#include <openvino/runtime/properties.hpp>
#include <utility>
#include <vector>

#include "artifact.h"
#include "batch.h"
#include "batch_trial.h"
#include "executed_precision.h"
#include "model_source.h"
#include "openvino_core.h"
#include "options.h"

namespace openvino {
namespace {

namespace fs = std::filesystem;
using assay::backend::CompileJob;
using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Error;
using assay::backend::Signature;
using assay::backend::TensorSpec;
using Json = nlohmann::ordered_json;

constexpr const char* kModelFile = "model/model.xml";
constexpr const char* kCompiledFolder = "compiled";

// What compile finds out about one model.
struct Compiled {
  Artifact artifact;
  Signature signature;
  std::int64_t fixed_batch = 0;  // the only one that it takes; 0: any
  ExecutedPrecision precision;
  bool rounds_inputs = false;  // of products with packed weights, to eight bits
  double supported_percent = 0;
};

// Those of the workload, each once; 1 without a workload.
std::vector<std::int64_t> batch_sizes_of(const Document& configs) {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0;; ++i) {
    const std::string key = "workload.batch_sizes." + std::to_string(i);
    if (!configs.has(key)) break;
    sizes.push_back(configs.integer(key));
  }
  if (sizes.empty()) sizes.push_back(1);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// Share of the model's operators that the plugin says it runs.
double supported_percent(const std::shared_ptr<ov::Model>& model, const ov::AnyMap& settings) {
  const ov::SupportedOpsMap supported = core().query_model(model, kDevice, settings);
  std::size_t all = 0;
  std::size_t those = 0;
  for (const auto& node : model->get_ordered_ops()) {
    const std::string type = node->get_type_name();
    if (type == "Parameter" || type == "Constant" || type == "Result") continue;
    ++all;
    if (supported.count(node->get_friendly_name()) > 0) ++those;
  }
  return all == 0 ? 100.0 : 100.0 * static_cast<double>(those) / static_cast<double>(all);
}

void export_object(const ov::CompiledModel& model, const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  ov::CompiledModel(model).export_model(file);
  file.close();
  if (!file) throw Error(ASSAY_RESOURCE_EXHAUSTED, "cannot write " + path);
}

// The batch sizes that the model can take; throws when there are none.
std::vector<std::int64_t> possible_sizes(const std::vector<BatchAxis>& axes,
                                         const Document& configs, const std::string& fixed_why) {
  std::vector<std::int64_t> sizes;
  std::string objection;
  for (const std::int64_t size : batch_sizes_of(configs)) {
    const std::string why = batch_objection(axes, size);
    if (why.empty() || fixed_why.empty()) {
      sizes.push_back(size);
    } else if (objection.empty()) {
      objection = why;
    }
  }
  if (!sizes.empty()) return sizes;
  throw Error(ASSAY_INVALID_ARGUMENT, objection + ", and it cannot be changed: " + fixed_why +
                                          "; run batch size " + std::to_string(fixed_batch(axes)));
}

ov::CompiledModel compile_for(const ov::Model& model, const std::vector<BatchAxis>& axes,
                              std::int64_t batch_size, const ov::AnyMap& settings) {
  try {
    return core().compile_model(with_batch(model, axes, batch_size), kDevice, settings);
  } catch (const ov::Exception& e) {
    throw as_error(ASSAY_INVALID_ARGUMENT, "compiling for batch size " + std::to_string(batch_size),
                   e);
  }
}

void learn_from(const ov::CompiledModel& model, const ov::Model& source, Compiled& compiled) {
  Artifact& artifact = compiled.artifact;
  artifact.requirements = model.get_property(ov::runtime_requirements);
  artifact.precision = model.get_property(ov::hint::inference_precision).get_type_name();
  compiled.rounds_inputs = model.get_property(ov::hint::dynamic_quantization_group_size) > 0;
  compiled.precision = executed_precision(*model.get_runtime_model(), source);
}

void compile_sizes(const ov::Model& model, const std::vector<BatchAxis>& axes,
                   const std::vector<std::int64_t>& sizes, const ov::AnyMap& settings,
                   const CompileJob& job, Compiled& compiled) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string stage = "compiling for batch size " + std::to_string(sizes[i]);
    job.progress(0.3 + 0.6 * static_cast<double>(i) / static_cast<double>(sizes.size()),
                 stage.c_str());
    const ov::CompiledModel made = compile_for(model, axes, sizes[i], settings);
    if (i == 0) learn_from(made, model, compiled);
    CompiledBatch object{
        sizes[i], std::string(kCompiledFolder) + "/batch-" + std::to_string(sizes[i]) + ".blob"};
    export_object(made, compiled.artifact.folder + "/" + object.file);
    compiled.artifact.compiled.push_back(std::move(object));
  }
}

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names;
  names.reserve(specs.size());
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return names;
}

Compiled compile_into(const std::string& folder, const Options& options, const Document& configs,
                      DataLoader& data, const CompileJob& job) {
  Compiled compiled;
  Artifact& artifact = compiled.artifact;
  artifact.folder = folder;
  artifact.options = options;
  artifact.model = kModelFile;
  artifact.build = runtime_build();
  artifact.device = device_name();
  const ov::AnyMap settings = settings_of(artifact.options, usable_cpu_count());

  job.progress(0.0, "reading the model");
  const std::shared_ptr<ov::Model> model = read_source(configs);
  compiled.signature = signature_of(*model, configs);
  artifact.inputs = names_of(compiled.signature.inputs);
  artifact.outputs = names_of(compiled.signature.outputs);
  const auto axes = batch_axes_of(compiled.signature.inputs, configs);

  std::string fixed_why;
  if (fixed_batch(axes) > 0) {
    fixed_why = fixed_batch_objection(*model, axes, configs, data, settings);
    artifact.follows_batch = fixed_why.empty();
    if (!artifact.follows_batch) compiled.fixed_batch = fixed_batch(axes);
  }
  const std::vector<std::int64_t> sizes = possible_sizes(axes, configs, fixed_why);
  compiled.supported_percent = supported_percent(model, settings);

  job.progress(0.2, "writing the model");
  const std::string copy = folder + "/" + artifact.model;
  fs::create_directories(fs::path(copy).parent_path());
  ov::save_model(model, copy, /*compress_to_fp16=*/false);
  compile_sizes(*model, axes, sizes, settings, job, compiled);
  write_artifact(artifact);
  return compiled;
}

Json tensor_map(const std::vector<TensorSpec>& specs) {
  Json map = Json::object();
  for (const TensorSpec& spec : specs) map[spec.name] = spec.shape;
  return map;
}

// OpenVINO computes in fewer bits than these have; the outputs are widened again.
std::string narrowing_note(const Signature& signature) {
  std::string names;
  for (const auto* specs : {&signature.inputs, &signature.outputs}) {
    for (const TensorSpec& spec : *specs) {
      const bool wide = spec.dtype == assay::backend::DType::kFloat64 ||
                        spec.dtype == assay::backend::DType::kInt64 ||
                        spec.dtype == assay::backend::DType::kUInt64;
      if (wide) names += (names.empty() ? "" : ", ") + spec.name;
    }
  }
  return names.empty() ? "" : "; OpenVINO carries 64-bit values in 32 bits: " + names;
}

Json precision_json(const Compiled& compiled) {
  const ExecutedPrecision& executed = compiled.precision;
  Json json = {{"summary", executed.summary()},
               {"requested", compiled.artifact.options.inference_precision}};
  for (const std::string& name : executed.precisions()) json[name] = executed.share(name);
  Json rows = Json::array();
  for (const ExecutedOperator& row : executed.operators) {
    rows.push_back({{"op", row.op},
                    {"precision", row.precision},
                    {"arithmetic", row.arithmetic},
                    {"count", row.count},
                    {"implementation", row.implementation}});
  }
  json["operators"] = std::move(rows);
  json["note"] = "share of the arithmetic operators of OpenVINO's own graph of the compiled model" +
                 narrowing_note(compiled.signature) +
                 (compiled.rounds_inputs
                      ? "; inputs of products with packed weights may be rounded to eight bits"
                      : "");
  return json;
}

Json optimizations_json(const Options& options) {
  return {{"inference_precision", options.inference_precision},
          {"performance_hint", options.performance_hint},
          {"streams", count_text(options.streams)},
          {"threads", count_text(options.threads)}};
}

std::string compile_result(const Document& configs, const Compiled& compiled,
                           const std::string& within) {
  Json input_type = Json::array();
  for (const TensorSpec& input : compiled.signature.inputs) {
    input_type.push_back(name_of(input.dtype));
  }
  Json objects = Json::array();
  for (const CompiledBatch& object : compiled.artifact.compiled) {
    objects.push_back({{"compiled_bs", object.batch_size}, {"compiled_obj", within + object.file}});
  }
  const std::string precision = compiled.precision.summary();

  Json result = {{"model", configs.text("model_info.model", configs.text("model_info.name", ""))},
                 {"framework", configs.text("model_info.framework", "Onnx")},
                 {"compile_precision", precision.empty() ? "unknown" : precision},
                 {"optimizations", optimizations_json(compiled.artifact.options)},
                 {"instance_count", 1},
                 {"device_count", 1},
                 {"input_type", std::move(input_type)},
                 {"max_batch_size", nullptr},
                 {"compile_status", "success"},
                 {"runtime", "OpenVINO " + runtime_build()},
                 {"sg_percent", compiled.supported_percent},
                 {"segments",
                  {{{"sg_idx", 0},
                    {"is_fallback", false},
                    {"input_tensor_map", tensor_map(compiled.signature.inputs)},
                    {"output_tensor_map", tensor_map(compiled.signature.outputs)},
                    {"compiled_model", std::move(objects)}}}},
                 {"executed_precision", precision_json(compiled)}};
  if (compiled.fixed_batch > 0) {
    result["max_batch_size"] = compiled.fixed_batch;
  } else if (configs.has("model_info.max_batch_size")) {
    result["max_batch_size"] = configs.integer("model_info.max_batch_size");
  }
  return result.dump(2);
}

}  // namespace

std::string compile_model(const Document& configs, DataLoader& data, const CompileJob& job,
                          const Options& options, const std::string& folder) {
  const std::string within = folder.empty() ? "" : folder + "/";
  const std::string whole = fs::path(job.path(within)).parent_path();
  try {
    fs::create_directories(whole);
    const Compiled compiled = compile_into(whole, options, configs, data, job);
    return compile_result(configs, compiled, within);
  } catch (const ov::Exception& e) {
    throw as_error(ASSAY_INTERNAL, "compiling", e);
  }
}

}  // namespace openvino
