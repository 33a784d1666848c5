// A backend that does nothing but what the boundary obliges it to: it asks for its output, fills it
// with zeros and returns. What a call through it takes is the cost of the harness.

#include <cstdint>
#include <cstring>
#include <string>

#include "assay/backend.hpp"

namespace {

namespace backend = assay::backend;

constexpr std::int64_t kMaxBatch = INT32_MAX;

class CompileBackendNull : public backend::CompileBackend {
 public:
  std::string hardware_type() override { return "NULL"; }

  std::string compile(const backend::Document& configs, backend::DataLoader& /*dataloader*/,
                      backend::CompileJob& /*job*/) override {
    backend::CompileResult result;
    result.model = configs.text("model_info.model", "null");
    result.framework = "None";
    result.compile_precision = "FP32";
    result.input_type = {"FLOAT32"};
    result.max_batch_size = kMaxBatch;
    result.objects = {{1, "nothing"}};  // a name: there is no file
    return result.to_json();
  }
};

// x: FLOAT32 [?,1] -> y: FLOAT32 [?,1], zeros.
class RuntimeBackendNull : public backend::RuntimeBackend {
 public:
  std::string version() override { return "null 1"; }
  void load(const backend::LoadRequest& request) override {
    if (request.batch_size <= kMaxBatch) return;
    throw backend::Error(ASSAY_OUT_OF_RANGE, "batch size " + std::to_string(request.batch_size) +
                                                 ", at most " + std::to_string(kMaxBatch));
  }
  backend::Signature signature() override {
    return {{{"x", backend::DType::kFloat32, {-1, 1}}}, {{"y", backend::DType::kFloat32, {-1, 1}}}};
  }
  backend::ThreadRule thread_rule() override { return backend::ThreadRule::kAny; }

  void predict(const backend::Inputs& inputs, backend::Outputs& outputs) override {
    void* const y = outputs.allocate(0, inputs[0].shape(), inputs[0].rank());
    std::memset(y, 0, inputs[0].size_bytes());
  }

  static backend::ProbeResult probe() {
    backend::ProbeResult result;
    result.available = true;
    result.devices = {{0, "nothing", "", -1, 0}};
    return result;
  }
};

}  // namespace

ASSAY_EXPORT_BACKEND(CompileBackendNull, RuntimeBackendNull)
