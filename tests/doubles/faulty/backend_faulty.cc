// A backend that fails in the way it is told to, for tests of everything that calls backends.
//
// ASSAY_FAULT, or interact_info.fault, is "<where>:<what>"; without one it works.
//   where  open (while the library is loaded) probe create version profile pre_optimize
//          best_batch_size compile load loaded_batch_size infer benchmark close
//   what   any name in misdeeds.cc, and
//          where text is returned: bad_json bad_text deep_json huge_text
//          best_batch_size: no_sizes negative_sizes   loaded_batch_size: lie
//          compile: chatter (reports progress without end)
//          infer: wrong_shape wrong_bytes wrong_dtype wrong_name twice no_output too_many nan
//          every_<N>th (fails) stale (output not written) write_beyond change_input
// "slow" takes ASSAY_FAULT_MS milliseconds more (default 50), and so does every call of every_<N>th
// when it is set.
//
// It runs any model: inputs are those of model_info (else x: FLOAT32 [?,4]), outputs its names
// (else y), each FLOAT32 [?, interact_info.classes (10)]. Element k of a sample's output is
// (k + 1) times the mean of the bytes of its first input.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/backend.hpp"
#include "misdeeds.h"

namespace {

namespace backend = assay::backend;

constexpr std::int64_t kMaxBatch = 1024;
constexpr std::string_view kArtifact = "This model needs no artifact.\n";

// What is to go wrong, and where.
class Fault {
 public:
  explicit Fault(const std::string& text = faulty::environment("ASSAY_FAULT")) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) return;
    where_ = text.substr(0, colon);
    what_ = text.substr(colon + 1);
  }
  // The fault of the options when there is one, else that of the environment.
  static Fault of(const backend::Document& configs) {
    const std::string text = configs.text("interact_info.fault", "");
    return text.empty() ? Fault() : Fault(text);
  }

  // What is to happen at `where`, or "".
  std::string_view what(std::string_view where) const {
    if (where != where_) return {};
    return what_;
  }

  // Does what is to happen at `where`, unless it is one of the ways in which only one method fails.
  void strike(std::string_view where) const { faulty::commit(what(where)); }

  // Does it, and then says `text`, or what the fault makes of it.
  std::string say(std::string_view where, std::string text) const {
    strike(where);
    return faulty::misspoken(what(where), std::move(text));
  }

 private:
  std::string where_;
  std::string what_;
};

class CompileBackendFaulty : public backend::CompileBackend {
 public:
  std::string hardware_type() override { return "FAULTY"; }

  std::string get_interact_profile(const backend::Document& configs) override {
    return Fault::of(configs).say("profile", "");
  }
  std::optional<std::string> pre_optimize(const backend::Document& configs,
                                          const std::string& /*folder*/) override {
    const std::string changed = Fault::of(configs).say("pre_optimize", "");
    return changed.empty() ? std::nullopt : std::optional(changed);
  }
  std::optional<std::vector<std::int64_t>> get_best_batch_size() override {
    const Fault fault;
    fault.strike("best_batch_size");
    const std::string_view what = fault.what("best_batch_size");
    if (what == "no_sizes") return std::vector<std::int64_t>{};
    if (what == "negative_sizes") return std::vector<std::int64_t>{-4, 0};
    return std::nullopt;
  }
  std::string compile(const backend::Document& configs, backend::DataLoader& /*dataloader*/,
                      backend::CompileJob& job) override {
    job.progress(0.5, "about to fail, perhaps");
    const Fault fault = Fault::of(configs);
    fault.strike("compile");
    while (fault.what("compile") == "chatter") job.progress(-1, "and on and on");
    backend::CompileResult result;
    result.model = configs.text("model_info.model", "faulty");
    result.framework = configs.text("model_info.framework", "None");
    result.compile_precision = "FP32";
    result.input_type = {"FLOAT32"};
    result.max_batch_size = kMaxBatch;
    std::ofstream(job.path("nothing.txt")) << kArtifact;
    result.objects = {{1, "nothing.txt"}};
    return faulty::misspoken(fault.what("compile"), result.to_json());
  }
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string part = list.substr(begin, end - begin);
    part.erase(0, part.find_first_not_of(' '));
    if (!part.empty()) parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

backend::DType dtype_of(const std::string& name) {
  using backend::DType;
  static const std::vector<std::pair<std::string, DType>> kNames = {
      {"FLOAT32", DType::kFloat32}, {"FLOAT16", DType::kFloat16}, {"FLOAT64", DType::kFloat64},
      {"INT64", DType::kInt64},     {"LONG", DType::kInt64},      {"INT32", DType::kInt32},
      {"INT16", DType::kInt16},     {"INT8", DType::kInt8},       {"UINT8", DType::kUInt8},
      {"BOOL", DType::kBool}};
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  throw std::invalid_argument("dtype \"" + name + "\" is not one of this double's");
}

backend::Signature signature_of(const backend::Document& configs) {
  backend::Signature signature;
  const auto inputs = split(configs.text("model_info.inputs", "x"));
  const auto types = split(configs.text("model_info.input_type", "FLOAT32"));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    backend::TensorSpec spec{inputs[i], dtype_of(types.at(std::min(i, types.size() - 1))), {-1}};
    const std::string prefix = "model_info.input_shape." + inputs[i] + ".";
    for (std::size_t axis = 1; configs.has(prefix + std::to_string(axis)); ++axis) {
      spec.shape.push_back(configs.integer(prefix + std::to_string(axis)));
    }
    if (spec.shape.size() == 1 && !configs.has(prefix + "0")) spec.shape.push_back(4);
    signature.inputs.push_back(spec);
  }
  const std::int64_t classes = configs.integer("interact_info.classes", 10);
  for (const std::string& name : split(configs.text("model_info.outputs", "y"))) {
    signature.outputs.push_back({name, backend::DType::kFloat32, {-1, classes}});
  }
  return signature;
}

// N of "every_<N>th"; 0 for anything else.
std::uint64_t fails_every(std::string_view what) {
  constexpr std::string_view kPrefix = "every_";
  if (!what.starts_with(kPrefix) || !what.ends_with("th")) return 0;
  return std::stoull(std::string(what.substr(kPrefix.size())));
}

class RuntimeBackendFaulty : public backend::RuntimeBackend {
 public:
  RuntimeBackendFaulty() { Fault().strike("create"); }

  std::string version() override { return Fault().say("version", "faulty 1"); }
  void load(const backend::LoadRequest& request) override {
    fault_ = Fault::of(request.configs);
    fault_.strike("load");
    if (request.batch_size > kMaxBatch) {
      throw backend::Error(ASSAY_OUT_OF_RANGE, "batch size " + std::to_string(request.batch_size) +
                                                   ", at most " + std::to_string(kMaxBatch));
    }
    check_artifact(request);
    signature_ = signature_of(request.configs);
  }
  backend::Signature signature() override { return signature_; }
  std::optional<std::int64_t> get_loaded_batch_size() override {
    fault_.strike("loaded_batch_size");
    if (fault_.what("loaded_batch_size") == "lie") return -3;
    return std::nullopt;
  }
  std::string benchmark(backend::DataLoader& /*dataloader*/) override {
    return fault_.say("benchmark", R"({"QPS": 10, "AVG Latency": 1.0})");
  }
  void close() override { fault_.strike("close"); }
  static backend::ProbeResult probe() {
    Fault().strike("probe");
    backend::ProbeResult result;
    result.available = true;
    return result;
  }

  void predict(const backend::Inputs& inputs, backend::Outputs& outputs) override {
    fault_.strike("infer");
    const std::string_view what = fault_.what("infer");
    if (const std::uint64_t n = fails_every(what); n > 0) {
      if (!faulty::environment("ASSAY_FAULT_MS").empty()) faulty::slow();
      if (++calls_ % n == 0) throw backend::Error(ASSAY_UNAVAILABLE, "call fails on demand");
    }
    const backend::Tensor first = inputs[0];
    const std::int64_t batch = first.dim(0);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::int64_t classes = signature_.outputs[i].shape[1];
      auto* const out = outputs.allocate<float>(i, {batch, classes});
      if (what == "write_beyond") out[batch * classes] = 1;
      if (what == "change_input") *const_cast<std::uint8_t*>(first.data<std::uint8_t>()) ^= 0xFF;
      if (what == "stale") continue;
      fill(first, batch, classes, what == "nan", out);
    }
  }

  const Fault& fault() const { return fault_; }
  const backend::Signature& loaded_signature() const { return signature_; }

 private:
  // Tests of calls load what was never compiled.
  static void check_artifact(const backend::LoadRequest& request) {
    if (!request.compile_result.has("compile_status")) return;
    std::ifstream file(request.path("nothing.txt"));
    std::string line;
    if (std::getline(file, line) && line + "\n" == kArtifact) return;
    throw backend::Error(ASSAY_DATA_LOSS, "nothing.txt is missing or damaged");
  }

  static void fill(const backend::Tensor& input, std::int64_t batch, std::int64_t classes, bool nan,
                   float* out) {
    const auto sample_bytes = batch == 0 ? 0 : input.size_bytes() / static_cast<std::size_t>(batch);
    const auto* bytes = input.data<std::uint8_t>();
    for (std::int64_t sample = 0; sample < batch; ++sample, bytes += sample_bytes) {
      double sum = 0;
      for (std::size_t i = 0; i < sample_bytes; ++i) sum += bytes[i];
      const double mean = sample_bytes == 0 ? 0 : sum / static_cast<double>(sample_bytes);
      for (std::int64_t k = 0; k < classes; ++k) {
        *out++ = nan ? std::numeric_limits<float>::quiet_NaN()
                     : static_cast<float>(mean * static_cast<double>(k + 1));
      }
    }
  }

  Fault fault_;
  backend::Signature signature_;
  std::uint64_t calls_ = 0;
};

using Plugin = backend::detail::Plugin<CompileBackendFaulty, RuntimeBackendFaulty>;
using Table = backend::detail::RuntimeTable<RuntimeBackendFaulty>;

// Breaks the rules of the boundary, which the C++ classes would not let it.
int32_t break_rules(const RuntimeBackendFaulty& self, std::string_view what,
                    const assay_infer_request& request, assay_error* error) {
  const backend::TensorSpec& spec = self.loaded_signature().outputs[0];
  std::int64_t shape[2] = {request.inputs[0].shape[0], spec.shape[1]};
  if (what == "wrong_shape") shape[1] += 1;
  assay_tensor output{};
  output.name = what == "wrong_name" ? "another" : spec.name.c_str();
  output.dtype = what == "wrong_dtype" ? ASSAY_FLOAT16 : ASSAY_FLOAT32;
  output.rank = 2;
  output.shape = shape;
  output.size_bytes =
      static_cast<std::uint64_t>(shape[0] * shape[1]) * (what == "wrong_dtype" ? 2 : 4);
  if (what == "wrong_bytes") output.size_bytes -= 4;
  output.memory_kind = ASSAY_MEMORY_HOST;
  output.device_id = -1;
  const std::uint32_t index = what == "too_many" ? 1 : 0;
  const int times = what == "no_output" ? 0 : what == "twice" ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    // What the host says is ignored: that must not get a broken call accepted.
    (void)request.outputs->alloc_output(request.outputs->context, index, &output, error);
  }
  return ASSAY_OK;
}

int32_t infer(assay_runtime* runtime, const assay_infer_request* request, assay_error* error) {
  static constexpr std::string_view kBroken[] = {
      "wrong_shape", "wrong_bytes", "wrong_dtype", "wrong_name", "twice", "no_output", "too_many"};
  const auto& self = backend::runtime_of<RuntimeBackendFaulty>(runtime);
  const std::string_view what = self.fault().what("infer");
  const bool breaks = std::find(std::begin(kBroken), std::end(kBroken), what) != std::end(kBroken);
  return breaks ? break_rules(self, what, *request, error) : Table::infer(runtime, request, error);
}

// What happens while the library is loaded.
[[maybe_unused]] const bool kOpened = [] {
  Fault().strike("open");
  return true;
}();

}  // namespace

int32_t assay_backend_v0(const assay_host* host, const assay_plugin** plugin, assay_error* error) {
  static assay_runtime_table runtime;
  static assay_plugin changed;
  static std::once_flag once;
  const int32_t code = Plugin::enter(host, plugin, error);
  if (code != ASSAY_OK) return code;
  std::call_once(once, [&] {
    runtime = *(*plugin)->runtime;
    runtime.infer = infer;
    // Only then: a backend with figures of its own has one phase more.
    if (!faulty::environment("ASSAY_FAULT").starts_with("benchmark:")) runtime.benchmark = nullptr;
    changed = **plugin;
    changed.runtime = &runtime;
  });
  *plugin = &changed;
  return ASSAY_OK;
}
