#include "runtime_backend_graphcore.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

#include "assay/extensions.h"
#include "chip_compile.h"
#include "sdk/location.h"

namespace graphcore {

using assay::backend::Error;
using assay::backend::LoadRequest;

namespace {

constexpr std::uint64_t kDeviceWaitMs = 600'000;  // chips are shared: the wait for a free one
constexpr std::uint64_t kCallMs = 600'000;

// The chips that there are, where the SDK is. Acquires none.
void add_chips(assay::backend::ProbeResult& result) {
  if (!find_sdk().found()) return;
  const std::uint32_t devices = count_devices(open_module(chosen_module()));
  for (std::uint32_t i = 0; i < devices; ++i) {
    result.devices.push_back({static_cast<std::int32_t>(i + 1), "IPU", {}, -1, 0});
  }
}

}  // namespace

std::string RuntimeBackendGRAPHCORE::version() {
  return "IPU model 1 (simulated), ONNX Runtime " + OnnxRuntime::open()->version() +
         ", GRAPHCORE backend " GRAPHCORE_BACKEND_VERSION;
}

void RuntimeBackendGRAPHCORE::load(const LoadRequest& request) {
  model_.reset();
  chip_.reset();
  if (const std::string executable = executable_for(request); !executable.empty()) {
    chip_ = std::make_unique<Device>(open_module(chosen_module()), executable, kDeviceWaitMs);
    return;
  }
  log_scope_ = std::make_unique<cpu::LogScope>(
      [this](std::uint32_t level, std::string_view line) { log(level, line); });
  for (const std::int32_t device : request.device_ids) {
    if (device == 0) continue;
    throw Error(ASSAY_INVALID_ARGUMENT,
                "device " + std::to_string(device) + ": the model of the chip is device 0 only");
  }
  const int threads = request.cpus.empty()
                          ? static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))
                          : static_cast<int>(request.cpus.size());
  try {
    Index index;
    model_ = std::make_unique<LoadedModel>(artifact_of(read_parts(request.artifact_folder, index)),
                                           request.configs, request.batch_size, threads);
  } catch (const Ort::Exception& e) {
    throw cpu::as_error(e);
  }
  if (model_->options().rounds_randomly()) {
    log(ASSAY_LOG_INFO, "stochastic rounding draws by seed " + std::to_string(model_->seed()));
  }
}

void RuntimeBackendGRAPHCORE::predict(const assay::backend::Inputs& inputs,
                                      assay::backend::Outputs& outputs) {
  if (chip_) return chip_->run(inputs, outputs, kCallMs);
  try {
    model_->predict(inputs, outputs);
  } catch (const Ort::Exception& e) {
    throw cpu::as_error(e);
  }
}

std::string RuntimeBackendGRAPHCORE::overflow_text() const {
  if (model_ == nullptr) return "";
  const OverflowCount count = model_->overflows();
  if (count.values == 0) return "";
  return std::to_string(count.values) + " values overflowed fp16 and became " +
         (model_->options().nanoo ? "NaN" : "65504 or -65504") + ", first at operator " +
         count.first_op + ", tensor \"" + count.first_tensor + "\"";
}

// What the report says of the calls so far.
std::int32_t RuntimeBackendGRAPHCORE::collect(assay_runtime* runtime, const assay_text_sink* facts,
                                              assay_error* /*error*/) {
  const auto& self = assay::backend::runtime_of<RuntimeBackendGRAPHCORE>(runtime);
  const std::string overflowed = self.overflow_text();
  const std::string notes = overflowed.empty() ? "" : assay::backend::json_quoted(overflowed);
  const std::string text = "{\"notes\": [" + notes + "]}";
  facts->write(facts->context, text.data(), text.size());
  return ASSAY_OK;
}

const void* RuntimeBackendGRAPHCORE::get_extension(const char* name) {
  static constexpr assay_facts kFacts = {sizeof(assay_facts), 0, &collect};
  return std::strcmp(name, ASSAY_EXTENSION_FACTS) == 0 ? &kFacts : nullptr;
}

void RuntimeBackendGRAPHCORE::close() {
  if (const std::string text = overflow_text(); !text.empty()) log(ASSAY_LOG_WARNING, text);
  if (chip_) chip_->close();
  chip_.reset();
  model_.reset();
  log_scope_.reset();
}

assay::backend::ProbeResult RuntimeBackendGRAPHCORE::probe() {
  assay::backend::ProbeResult result;
  result.devices.push_back({0, "model of an IPU (simulated)", {}, -1, 0});
  try {
    result.sdk_version = "ONNX Runtime " + OnnxRuntime::open()->version();
    result.available = true;
    add_chips(result);
  } catch (const Error& e) {
    result.reason = e.what();
  }
  return result;
}

}  // namespace graphcore
