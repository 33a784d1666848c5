// A backend that cuts every ONNX model into segments and runs each of them by itself, on the CPU
// backend's library; one of them is marked as a fallback, which Assay has to run. The compile
// result lists them in the wrong order, since the order is Assay's to find. `fault` is one of:
//
//   none         nothing is wrong
//   claims_all   says that more of the graph is on the device than is
//   wrong_name   the last segment takes a tensor that nobody gives
//   wrong_shape  the last segment's runtime wants another shape than its maps say
//   fails        predict of the last segment fails
//   crashes      predict of the last segment aborts
//   other_batch  the last segment loads another batch size
//   no_object    the fallback segment names no model
//   lost_object  the fallback segment's model is not in the artifact
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "host/backend.h"
#include "model/onnx_cut.h"

namespace segments {
namespace {

namespace backend = assay::backend;
namespace fs = std::filesystem;
namespace host = assay::host;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMaxBatch = 1024;

template <typename T>
T value_of(assay::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  throw backend::Error(static_cast<std::int32_t>(result.status().code()),
                       result.status().message());
}

void require(const assay::Status& status) {
  if (!status.ok())
    throw backend::Error(static_cast<std::int32_t>(status.code()), status.message());
}

const host::Library& cpu_library() {
  static const host::Library kLibrary = value_of(host::Library::open(SEGMENTS_CPU_LIBRARY));
  return kLibrary;
}

Json map_of(const std::vector<assay::TensorSpec>& specs) {
  Json map = Json::object();
  for (const assay::TensorSpec& spec : specs) map[spec.name] = spec.shape;
  return map;
}

// The model at `path` on the CPU backend.
host::RuntimeBackend load_on_cpu(Json configs, const std::string& path, std::int64_t batch_size) {
  Json& info = configs["model_info"];
  info["model_path"] = path;
  for (const char* of_the_whole : {"inputs", "outputs", "input_shape"}) info.erase(of_the_whole);
  configs["interact_info"] = Json::object();
  host::LoadRequest load;
  load.configs = configs.dump();
  static std::atomic<int> loads{0};
  load.artifact_folder =
      fs::temp_directory_path() / ("segments-" + std::to_string(::getpid()) + "-" +
                                   std::to_string(++loads) + fs::path(path).filename().string());
  load.batch_size = batch_size;
  fs::create_directories(load.artifact_folder);
  auto compiler = value_of(host::CompileBackend::create(cpu_library()));
  host::NoData no_samples;
  load.compile_result = value_of(compiler.compile(
      {.configs = load.configs, .artifact_folder = load.artifact_folder, .progress = {}},
      no_samples));
  auto runtime = value_of(host::RuntimeBackend::create(cpu_library()));
  const assay::Status loaded = runtime.load(load);
  fs::remove_all(load.artifact_folder);  // it has been read
  require(loaded);
  return runtime;
}

struct Options {
  explicit Options(const backend::Document& configs)
      : pieces(configs.integer("interact_info.pieces", 3)),
        fallback(configs.integer("interact_info.fallback", 1)),
        fault(configs.text("interact_info.fault", "none")) {}

  std::int64_t pieces;
  std::int64_t fallback;
  std::string fault;
};

class CompileBackendSEGMENTS : public backend::CompileBackend {
 public:
  std::string hardware_type() override { return "SEGMENTS"; }

  std::string compile(const backend::Document& configs, backend::DataLoader& /*dataloader*/,
                      backend::CompileJob& job) override {
    const Options options(configs);
    const fs::path model = configs.text("model_info.model_path");
    const auto operators = static_cast<std::int64_t>(value_of(assay::list_operators(model)).size());
    // Small models stay whole.
    const std::int64_t pieces = operators < 2 * options.pieces ? 1 : options.pieces;
    Json segments = Json::array();
    std::int64_t on_device = operators;
    std::map<std::string, assay::TensorSpec> known;
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t first = operators * i / pieces;
      const std::int64_t last = operators * (i + 1) / pieces - 1;
      Json segment = cut(configs, {first, last}, i, job, known);
      segment["is_fallback"] = i == options.fallback;
      if (i == options.fallback) on_device -= segment["operators"].get<std::int64_t>();
      segments.insert(segments.begin(), std::move(segment));
    }
    spoil(options.fault, segments);
    const double share = 100.0 * static_cast<double>(on_device) / static_cast<double>(operators);
    const bool boasts = options.fault == "claims_all";
    return Json{{"model", configs.text("model_info.name", "")},
                {"framework", "Onnx"},
                {"compile_precision", "FP32"},
                {"compile_status", "success"},
                {"sg_percent", boasts ? 99 : share},
                {"max_batch_size", kMaxBatch},
                {"segments", std::move(segments)}}
        .dump();
  }

 private:
  // The shapes at a cut are not in the model: the CPU backend is asked what the piece before gives.
  static Json cut(const backend::Document& configs, std::pair<std::int64_t, std::int64_t> range,
                  std::int64_t index, const backend::CompileJob& job,
                  std::map<std::string, assay::TensorSpec>& known) {
    const std::string file = "part" + std::to_string(index) + ".onnx";
    const assay::CutModel made = value_of(assay::write_cut(
        configs.text("model_info.model_path"), range.first, range.second, job.path(file), known));
    const host::RuntimeBackend loaded = load_on_cpu(Json::parse(configs.json()), job.path(file), 1);
    for (const assay::TensorSpec& spec : loaded.signature().outputs) known[spec.name] = spec;
    return Json{{"sg_idx", index},
                {"input_tensor_map", map_of(loaded.signature().inputs)},
                {"output_tensor_map", map_of(loaded.signature().outputs)},
                {"operators", made.operators},
                {"compiled_model", {{{"compiled_bs", 1}, {"compiled_obj", file}}}}};
  }

  static void spoil(const std::string& fault, Json& segments) {
    Json& last = segments.front();
    if (fault == "wrong_name") {
      const Json shape = last["input_tensor_map"].front();
      last["input_tensor_map"] = Json{{"nobody_gives_this", shape}};
    }
    for (Json& segment : segments) {
      if (segment["is_fallback"] != true) continue;
      if (fault == "no_object") segment["compiled_model"] = Json::array();
      if (fault == "lost_object") segment["compiled_model"][0]["compiled_obj"] = "gone.onnx";
    }
  }
};

// One segment, loaded into the CPU backend.
class RuntimeBackendSEGMENTS : public backend::RuntimeBackend {
 public:
  std::string version() override { return "SEGMENTS 1"; }

  void load(const backend::LoadRequest& request) override {
    const Json compiled = Json::parse(request.compile_result.json());
    const Json& segments = compiled["segments"];
    if (segments.size() != 1) {
      throw backend::Error(ASSAY_INVALID_ARGUMENT,
                           "load got " + std::to_string(segments.size()) + " segments, wants one");
    }
    if (request.batch_size > kMaxBatch) {
      throw backend::Error(ASSAY_OUT_OF_RANGE, "batch size above " + std::to_string(kMaxBatch));
    }
    const Options options(request.configs);
    is_last_ = segments[0]["sg_idx"] == options.pieces - 1;
    fault_ = is_last_ ? options.fault : "none";
    batch_size_ = request.batch_size + (fault_ == "other_batch" ? 1 : 0);
    const std::string file = segments[0]["compiled_model"][0]["compiled_obj"];
    runtime_.emplace(
        load_on_cpu(Json::parse(request.configs.json()), request.path(file), batch_size_));
  }

  backend::Signature signature() override {
    const assay::Signature& loaded = runtime_->signature();
    backend::Signature told{specs(loaded.inputs), specs(loaded.outputs)};
    if (fault_ == "wrong_shape") told.inputs[0].shape.back() += 1;
    return told;
  }

  std::optional<std::int64_t> get_loaded_batch_size() override { return batch_size_; }

  void predict(const backend::Inputs& inputs, backend::Outputs& outputs) override {
    if (fault_ == "fails") throw backend::Error(ASSAY_DATA_LOSS, "the last segment is broken");
    if (fault_ == "crashes") std::abort();
    std::vector<assay::TensorView> views;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const backend::Tensor input = inputs[i];
      views.push_back({{input.name(), static_cast<assay::DType>(input.dtype()),
                        assay::Shape(input.shape(), input.shape() + input.rank())},
                       {input.data<std::byte>(), input.size_bytes()}});
    }
    Sink sink(outputs);
    require(runtime_->infer(views, sink));
  }

  void close() override {
    if (runtime_) require(runtime_->close());
  }

 private:
  // The CPU backend writes straight to where Assay wants the outputs.
  class Sink : public host::OutputSink {
   public:
    explicit Sink(backend::Outputs& outputs) : outputs_(&outputs) {}
    assay::Result<std::span<std::byte>> allocate(std::size_t index,
                                                 std::span<const std::int64_t> shape,
                                                 std::size_t size_bytes) override {
      void* const memory = outputs_->allocate(index, shape.data(), shape.size());
      return std::span<std::byte>(static_cast<std::byte*>(memory), size_bytes);
    }

   private:
    backend::Outputs* outputs_;
  };

  static std::vector<backend::TensorSpec> specs(const std::vector<assay::TensorSpec>& from) {
    std::vector<backend::TensorSpec> to;
    for (const assay::TensorSpec& spec : from) {
      to.push_back({spec.name, static_cast<backend::DType>(spec.dtype), spec.shape});
    }
    return to;
  }

  bool is_last_ = false;
  std::string fault_ = "none";
  std::int64_t batch_size_ = 1;
  std::optional<host::RuntimeBackend> runtime_;
};

}  // namespace
}  // namespace segments

ASSAY_EXPORT_BACKEND(segments::CompileBackendSEGMENTS, segments::RuntimeBackendSEGMENTS)
