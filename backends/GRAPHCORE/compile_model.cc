#include "compile_model.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "artifact.h"
#include "cache.h"
#include "chip_compile.h"
#include "host_session.h"
#include "loaded_model.h"
#include "lower.h"
#include "plan.h"
#include "plan_json.h"

namespace graphcore {
namespace {

namespace fs = std::filesystem;
using assay::backend::CompileJob;
using assay::backend::DataLoader;
using assay::backend::Document;
using assay::backend::Error;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kTrialBatch = 8;  // of a model whose batch is free

// Shapes as the model declares them: -1 where free.
void declare_shapes(const onnx::ModelProto& model, std::vector<Anchor>& anchors,
                    const TensorFacts& facts) {
  const auto shape_in = [&](const auto& values, const std::string& name) {
    std::vector<std::int64_t> shape;
    for (const auto& value : values) {
      if (value.name() != name) continue;
      for (const auto& dim : value.type().tensor_type().shape().dim()) {
        shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
      }
    }
    return shape;
  };
  for (Anchor& anchor : anchors) {
    anchor.shape = anchor.is_input ? shape_in(model.graph().input(), anchor.name)
                                   : shape_in(model.graph().output(), anchor.name);
    // A shape that is not declared is known by its rank alone.
    const auto fact = facts.find(anchor.name);
    if (fact != facts.end() && anchor.shape.size() != fact->second.shape.size()) {
      anchor.shape.assign(fact->second.shape.size(), -1);
    }
  }
}

std::int64_t fixed_batch(const Document& configs, const std::vector<Anchor>& anchors) {
  for (const Anchor& anchor : anchors) {
    if (!anchor.is_input || batch_axis_of(configs, anchor.name, anchor.shape.size()) != 0) continue;
    if (anchor.shape[0] < 0) continue;
    const std::int64_t per_sample = std::max<std::int64_t>(
        1, configs.integer("model_info.input_shape." + anchor.name + ".0", 1));
    return std::max<std::int64_t>(1, anchor.shape[0] / per_sample);
  }
  return 0;
}

Json tensor_map(const std::vector<Anchor>& anchors, bool inputs) {
  Json map = Json::object();
  for (const Anchor& anchor : anchors) {
    if (anchor.is_input == inputs) map[anchor.name] = anchor.shape;
  }
  return map;
}

Json optimizations_json(const Options& options) {
  Json json = Json::object();
  for (const OptionRow& row : option_rows(options)) {
    json[row.name] = {{"requested", row.requested}, {"effective", row.effective}};
    if (!row.note.empty()) json[row.name]["note"] = row.note;
  }
  return json;
}

std::string result_of(const Document& configs, const Options& options, const Lowered& lowered,
                      const std::vector<Plan>& plans, Json overflows) {
  Json input_type = Json::array();
  for (const Anchor& anchor : lowered.anchors) {
    if (anchor.is_input) input_type.push_back(type_name(anchor.host_type));
  }
  const std::int64_t fixed = fixed_batch(configs, lowered.anchors);
  Json result = {
      {"model", configs.text("model_info.model", configs.text("model_info.name", ""))},
      {"framework", configs.text("model_info.framework", "Onnx")},
      {"compile_precision", options.half() ? "FP16" : "FP32"},
      {"optimizations", optimizations_json(options)},
      {"instance_count", 1},
      {"device_count", 1},
      {"input_type", std::move(input_type)},
      {"max_batch_size", nullptr},
      {"compile_status", "success"},
      {"sg_percent", 100},
      {"simulated", true},
      {"segments",
       {{{"sg_idx", 0},
         {"is_fallback", false},
         {"input_tensor_map", tensor_map(lowered.anchors, true)},
         {"output_tensor_map", tensor_map(lowered.anchors, false)},
         {"compiled_model",
          {{{"compiled_bs", fixed > 0 ? fixed : 1}, {"compiled_obj", "artifact.json"}}}}}}}};
  if (fixed > 0) {
    result["max_batch_size"] = fixed;
  } else if (configs.has("model_info.max_batch_size")) {
    result["max_batch_size"] = configs.integer("model_info.max_batch_size");
  }
  result["modelled"] = modelled_json(plans, options);
  result["modelled"]["overflows"] = std::move(overflows);
  result["modelled"]["saturated_weights"] = lowered.saturated_weights;
  Json adaptations = Json::array();
  for (const Anchor& anchor : lowered.anchors) {
    if (anchor.adaptation.empty()) continue;
    adaptations.push_back({{"tensor", anchor.name},
                           {"direction", anchor.is_input ? "input" : "output"},
                           {"adaptation", anchor.adaptation}});
  }
  result["adaptations"] = std::move(adaptations);
  return result.dump(2);
}

// Those of the workload, each once; 1 without a workload.
std::vector<std::int64_t> batch_sizes(const Document& configs) {
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

// Whether results come along the batch, from how they grow from a batch of 1 to 2.
void find_batched(std::vector<Anchor>& anchors, const TensorFacts& one, const TensorFacts& two) {
  for (Anchor& anchor : anchors) {
    const auto small = one.find(anchor.name);
    const auto large = two.find(anchor.name);
    if (anchor.is_input || small == one.end() || large == two.end()) continue;
    const auto& shape = small->second.shape;
    anchor.batched =
        !shape.empty() && !large->second.shape.empty() && shape[0] != large->second.shape[0];
  }
}

// A plan for each batch size; throws when one does not fit.
std::vector<Plan> plans_of(const Document& configs, const onnx::ModelProto& model, Lowered& lowered,
                           const TensorFacts& facts, const Options& options) {
  const std::int64_t fixed = fixed_batch(configs, lowered.anchors);
  const TensorFacts one = fixed > 0 ? facts : tensor_facts(model, configs, 1);
  if (fixed == 0) find_batched(lowered.anchors, one, facts);
  const PlanInput input{&model, &lowered.types, &one, &facts};
  std::vector<Plan> plans;
  for (const std::int64_t size : fixed > 0 ? std::vector{fixed} : batch_sizes(configs)) {
    plans.push_back(plan_model(input, options, size));
    check_fits(plans.back(), options);
  }
  return plans;
}

// Loads what was compiled, which checks the whole graph, and runs the first samples: where do
// values overflow fp16? Data that the model does not take is no reason to refuse the model.
Json try_model(const Document& configs, DataLoader& data, Artifact artifact, std::int64_t batch) {
  LoadedModel model(std::move(artifact), configs, batch, 1);
  const auto samples = static_cast<std::uint64_t>(model.samples());
  if (data.size() < samples) return {{"samples", 0}, {"note", "no data to look for them in"}};
  try {
    model.try_run(data.read(0, samples));
  } catch (const std::exception& e) {
    return {{"samples", 0}, {"note", std::string("the trial failed: ") + e.what()}};
  }
  const OverflowCount count = model.overflows();
  Json json = {{"samples", samples}, {"values", count.values}};
  if (count.values > 0) {
    json["starts_at"] = {{"op", count.first_op}, {"tensor", count.first_tensor}};
  }
  return json;
}

std::string compile(const Document& configs, DataLoader& data, const CompileJob& job,
                    const Options& options) {
  const std::string folder = fs::path(job.path("")).parent_path();
  fs::create_directories(folder);
  job.progress(0.0, "reading the model");
  const std::string key = cache_key(configs, options, toolchain_text());
  std::string kept;
  if (take_from_cache(options, key, folder, kept)) return kept;
  const std::string path = configs.text("model_info.model_path");
  const onnx::ModelProto model = folded_model(path, job.path("folded.onnx"));
  check_lowerable(model);
  job.progress(0.3, "finding the shapes");
  const auto facts = tensor_facts(model, configs, 2);
  job.progress(0.6, "lowering");
  Lowered lowered = lower(model, facts, options);
  declare_shapes(model, lowered.anchors, facts);
  job.progress(0.8, "planning the memory");
  const std::vector<Plan> plans = plans_of(configs, model, lowered, facts, options);
  auto parts = parts_of(lowered, options, toolchain_text());
  parts["plan"] = plan_json(plans).dump(1) + "\n";
  job.progress(0.9, "running it once");
  const std::int64_t fixed = fixed_batch(configs, lowered.anchors);
  const std::int64_t batch = fixed > 0 ? fixed : kTrialBatch;
  Json overflows = try_model(configs, data, artifact_of(parts), batch);
  const std::string made = result_of(configs, options, lowered, plans, std::move(overflows));
  write_parts(folder, parts, key);
  put_into_cache(options, key, folder, made);
  return made;
}

}  // namespace

std::string toolchain_text() {
  const Json json = {{"backend", GRAPHCORE_BACKEND_VERSION},
                     {"model_of_the_chip", 1},
                     {"onnx_runtime", OnnxRuntime::open()->version()}};
  return json.dump(1) + "\n";
}

std::string compile_model(const Document& configs, DataLoader& data, const CompileJob& job,
                          const Options& options) {
  if (goes_by_chip(options)) {
    return compile_for_chip(configs, job, options, batch_sizes(configs));
  }
  try {
    return compile(configs, data, job, options);
  } catch (const Ort::Exception& e) {
    throw cpu::as_error(e);
  }
}

}  // namespace graphcore
