// Stands for the vendor's module in tests: y = 2 x, FLOAT32 [1,4]. The file that is "loaded" says
// in its first word how it goes: fine, unavailable, mismatch, memory, slow, failing, mute, untyped,
// steps.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "assay/backend.h"
#include "sdk/seam.h"

struct graphcore_executable {
  std::string mode;
};

namespace {

constexpr std::int64_t kShape[] = {1, 4};
std::atomic<int> acquired{0};

std::int32_t say(graphcore_text message, std::int32_t code, const char* text) {
  std::snprintf(message.data, message.capacity, "%s", text);
  return code;
}

const char* version() { return "double 1"; }

std::int32_t device_info(std::uint32_t* devices, graphcore_text) {
  *devices = 4;
  return acquired.load() == 0 ? GRAPHCORE_OK : GRAPHCORE_FAILED;
}

std::int32_t load(const char* path, std::uint64_t timeout_ms, graphcore_executable** executable,
                  graphcore_text message) {
  std::ifstream file(path);
  std::string mode;
  file >> mode;
  if (mode == "unavailable") {
    return say(message, GRAPHCORE_DEVICE_UNAVAILABLE,
               ("no chip within " + std::to_string(timeout_ms) + " ms").c_str());
  }
  if (mode == "mismatch")
    return say(message, GRAPHCORE_VERSION_MISMATCH, "made by 3.2, here is 3.3");
  ++acquired;
  *executable = new graphcore_executable{mode};
  return GRAPHCORE_OK;
}

std::int32_t describe(graphcore_executable* executable,
                      void (*add)(void*, std::int32_t, const graphcore_tensor*), void* context,
                      graphcore_text) {
  const std::uint32_t dtype = executable->mode == "untyped" ? 99 : ASSAY_FLOAT32;
  // Two steps of a call in one buffer: more bytes than the shape says.
  const std::uint64_t bytes = executable->mode == "steps" ? 32 : 16;
  graphcore_tensor tensor{"x", dtype, 2, kShape, bytes, nullptr};
  add(context, 1, &tensor);
  tensor.name = "y";
  add(context, 0, &tensor);
  return GRAPHCORE_OK;
}

std::int32_t run(graphcore_executable* executable, const graphcore_tensor* inputs, std::uint64_t,
                 const graphcore_tensor* outputs, std::uint64_t, std::uint64_t,
                 graphcore_text message) {
  if (executable->mode == "memory") return say(message, GRAPHCORE_OUT_OF_MEMORY, "tile 7 is full");
  if (executable->mode == "slow") return say(message, GRAPHCORE_TIMED_OUT, "the chip is silent");
  if (executable->mode == "failing") return say(message, GRAPHCORE_FAILED, "link error");
  if (executable->mode == "mute") return GRAPHCORE_FAILED;
  const auto* x = static_cast<const float*>(inputs[0].data);
  auto* y = static_cast<float*>(outputs[0].data);
  for (int i = 0; i < 4; ++i) y[i] = 2 * x[i];
  return GRAPHCORE_OK;
}

std::int32_t close(graphcore_executable* executable, graphcore_text) {
  --acquired;
  delete executable;
  return GRAPHCORE_OK;
}

constexpr graphcore_module kModule = {
    GRAPHCORE_DOUBLE_VERSION, version, device_info, load, describe, run, nullptr, close};

}  // namespace

extern "C" __attribute__((visibility("default"))) const graphcore_module* graphcore_device_module(
    void) {
  return &kModule;
}
