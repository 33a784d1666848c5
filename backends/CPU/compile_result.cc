#include "compile_result.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace cpu {
namespace {

using assay::backend::Document;
using assay::backend::DType;
using assay::backend::TensorSpec;
using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<DType, const char*>, 14> kNames = {{
    {DType::kFloat64, "FLOAT64"},
    {DType::kFloat32, "FLOAT32"},
    {DType::kFloat16, "FLOAT16"},
    {DType::kBFloat16, "BFLOAT16"},
    {DType::kFloat8E4M3, "FP8"},
    {DType::kInt64, "INT64"},
    {DType::kInt32, "INT32"},
    {DType::kInt16, "INT16"},
    {DType::kInt8, "INT8"},
    {DType::kUInt8, "UINT8"},
    {DType::kBool, "BOOL"},
    {DType::kUInt16, "UINT16"},
    {DType::kUInt32, "UINT32"},
    {DType::kUInt64, "UINT64"},
}};

Json tensor_map(const std::vector<TensorSpec>& specs) {
  Json map = Json::object();
  for (const TensorSpec& spec : specs) map[spec.name] = spec.shape;
  return map;
}

Json operators_json(const ExecutedPrecision& executed) {
  Json rows = Json::array();
  for (const ExecutedOperator& row : executed.operators) {
    rows.push_back({{"op", row.op},
                    {"precision", row.precision},
                    {"arithmetic", row.arithmetic},
                    {"count", row.count},
                    {"provider", row.provider}});
  }
  return rows;
}

Json precision_json(const CompileFacts& facts) {
  Json json = Json::object();
  if (!facts.precision) {
    json["note"] = "unknown: a trial run failed: " + facts.trial_failure;
    return json;
  }
  const ExecutedPrecision& executed = *facts.precision;
  json["summary"] = executed.summary();
  for (const std::string& name : executed.precisions()) json[name] = executed.share(name);
  json["operators"] = operators_json(executed);
  json["note"] =
      "share of the arithmetic operators, " + facts.precision_source +
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

}  // namespace

const char* name_of(DType dtype) {
  for (const auto& [each, name] : kNames) {
    if (each == dtype) return name;
  }
  return "UNDEFINED";
}

std::string compile_result(const Document& configs, const Artifact& artifact,
                           const CompileFacts& facts) {
  const assay::backend::Signature& signature = facts.signature;
  Json input_type = Json::array();
  for (const TensorSpec& input : signature.inputs) input_type.push_back(name_of(input.dtype));
  const std::string precision = facts.precision ? facts.precision->summary() : "";
  Json result = {{"model", configs.text("model_info.model", configs.text("model_info.name", ""))},
                 {"framework", configs.text("model_info.framework", facts.framework)},
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
                    {"input_tensor_map", tensor_map(signature.inputs)},
                    {"output_tensor_map", tensor_map(signature.outputs)},
                    {"compiled_model",
                     {{{"compiled_bs", facts.fixed_batch > 0 ? facts.fixed_batch : 1},
                       {"compiled_obj", artifact.model}}}}}}},
                 {"executed_precision", precision_json(facts)}};
  if (facts.fixed_batch > 0) {
    result["max_batch_size"] = facts.fixed_batch;
  } else if (configs.has("model_info.max_batch_size")) {
    result["max_batch_size"] = configs.integer("model_info.max_batch_size");
  }
  return result.dump(2);
}

}  // namespace cpu
