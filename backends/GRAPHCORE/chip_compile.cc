#include "chip_compile.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sdk/convert.h"
#include "sdk/device.h"
#include "sdk/location.h"

namespace graphcore {
namespace fs = std::filesystem;
namespace {

using assay::backend::CompileJob;
using assay::backend::Document;
using assay::backend::Error;
using Json = nlohmann::ordered_json;

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream words(list);
  for (std::string name; std::getline(words, name, ',');) {
    const auto first = name.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    names.push_back(name.substr(first, name.find_last_not_of(' ') - first + 1));
  }
  return names;
}

// As the model info has them, the first dimension times `batch`.
std::map<std::string, std::vector<std::int64_t>> input_shapes(const Document& configs,
                                                              std::int64_t batch) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const std::string& name : names_in(configs.text("model_info.inputs", ""))) {
    std::vector<std::int64_t> shape;
    for (std::size_t axis = 0;; ++axis) {
      const std::string key = "model_info.input_shape." + name + "." + std::to_string(axis);
      if (!configs.has(key)) break;
      const std::int64_t dim = configs.integer(key);
      shape.push_back(axis == 0 && dim > 0 ? dim * batch : dim);
    }
    if (!shape.empty()) shapes.emplace(name, std::move(shape));
  }
  return shapes;
}

std::string folder_of(std::int64_t batch) { return "bs" + std::to_string(batch); }

bool still_wanted(const CompileJob& job) {
  try {
    job.progress(-1, "the converter works");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// A buffer is sized for one batch of one replica on one chip; more of any is not supported there.
void check_for_chip(const Options& options) {
  const auto check = [](const char* name, std::int64_t value) {
    if (value == 1) return;
    throw Error(ASSAY_UNIMPLEMENTED,
                std::string(name) + " is " + std::to_string(value) + "; accepted on a chip: 1");
  };
  check("batches_per_step", options.batches_per_step);
  check("replication_factor", options.replication_factor);
  check("num_ipus", options.num_ipus);
}

void convert_one(const Document& configs, const CompileJob& job, const Options& options,
                 std::int64_t batch) {
  ConvertRequest request;
  request.model = configs.text("model_info.model_path");
  request.folder = job.path(folder_of(batch));
  request.shapes = input_shapes(configs, batch);
  request.options = options;
  request.python = from_environment("GRAPHCORE_PYTHON", "python3");
  request.goes_on = [&job] { return still_wanted(job); };
  fs::create_directories(request.folder);
  convert(request);
}

}  // namespace

bool goes_by_chip(const Options& options) {
  if (options.device == "ipu_model") return false;
  const SdkLocation location = find_sdk();
  if (location.found()) return true;
  if (options.device == "auto") return false;
  throw Error(ASSAY_UNAVAILABLE, "device ipu is unavailable: " + sdk_missing(location));
}

std::string compile_for_chip(const Document& configs, const CompileJob& job, const Options& options,
                             const std::vector<std::int64_t>& batch_sizes) {
  check_for_chip(options);
  Json compiled = Json::array();
  Json tables = Json::object();
  for (const std::int64_t batch : batch_sizes) {
    convert_one(configs, job, options, batch);
    const std::string folder = folder_of(batch);
    compiled.push_back({{"compiled_bs", batch}, {"compiled_obj", folder + "/" + kExecutable}});
    tables[folder] = {{"inputs", input_shapes(configs, batch)},
                      {"outputs", names_in(configs.text("model_info.outputs", ""))}};
  }
  std::ofstream(job.path("io.json")) << tables.dump(1) << '\n';
  Json optimizations = Json::object();
  for (const OptionRow& row : option_rows(options)) optimizations[row.name] = row.requested;
  return Json{{"model", configs.text("model_info.model", configs.text("model_info.name", ""))},
              {"framework", configs.text("model_info.framework", "Onnx")},
              {"compile_precision", options.half() ? "FP16" : "FP32"},
              {"optimizations", std::move(optimizations)},
              {"compile_status", "success"},
              {"sg_percent", 100},
              {"max_batch_size", batch_sizes.back()},
              {"toolchain", {{"sdk", find_sdk().folder}}},
              {"segments",
               {{{"sg_idx", 0}, {"is_fallback", false}, {"compiled_model", std::move(compiled)}}}}}
      .dump(2);
}

std::string executable_for(const assay::backend::LoadRequest& request) {
  const Json result = Json::parse(request.compile_result.json());
  const Json& compiled = result.at("segments").at(0).at("compiled_model");
  std::string sizes;
  for (const Json& object : compiled) {
    const auto file = object.at("compiled_obj").get<std::string>();
    if (!file.ends_with(kExecutable)) return "";
    const auto batch = object.at("compiled_bs").get<std::int64_t>();
    if (batch == request.batch_size) return request.path(file);
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(batch);
  }
  throw Error(ASSAY_NOT_FOUND, "no executable for batches of " +
                                   std::to_string(request.batch_size) + "; there are some for " +
                                   sizes);
}

std::string chosen_module() { return from_environment("GRAPHCORE_DEVICE_MODULE", module_path()); }

}  // namespace graphcore
