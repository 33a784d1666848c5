#include "runtime_backend_graphcore.h"

#include <algorithm>
#include <cstdint>
#include <thread>

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

void RuntimeBackendGRAPHCORE::say_overflows() {
  if (model_ == nullptr) return;
  const OverflowCount count = model_->overflows();
  if (count.values == 0) return;
  log(ASSAY_LOG_WARNING, std::to_string(count.values) +
                             " values overflowed fp16, first at operator " + count.first_op +
                             ", tensor \"" + count.first_tensor + "\"");
}

void RuntimeBackendGRAPHCORE::close() {
  say_overflows();
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
