// The module over the vendor's model_runtime library. Built where the Poplar SDK is found by CMake
// (find_package(model_runtime)), and only there. It has never been compiled and never run on a
// chip: no machine that builds Assay has the SDK. It is written from the public documentation; the
// seam's contract is what the tests hold, against a double.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <model_runtime/ModelRunner.hpp>
#include <model_runtime/Tensor.hpp>
#include <optional>
#include <string>
#include <utility>

#include "assay/backend.h"
#include "sdk/seam.h"

struct graphcore_executable {
  std::unique_ptr<model_runtime::ModelRunner> runner;
};

namespace {

std::int32_t say(graphcore_text message, std::int32_t code, const std::string& text) {
  std::snprintf(message.data, message.capacity, "%s", text.c_str());
  return code;
}

// What an exception of the vendor's means, told by its text: its types are not documented.
std::int32_t code_of(const std::string& text) {
  const auto has = [&](const char* words) { return text.find(words) != std::string::npos; };
  if (has("package hash") || has("version")) return GRAPHCORE_VERSION_MISMATCH;
  if (has("memory")) return GRAPHCORE_OUT_OF_MEMORY;
  if (has("timeout") || has("timed out")) return GRAPHCORE_TIMED_OUT;
  if (has("device") || has("Device")) return GRAPHCORE_DEVICE_UNAVAILABLE;
  return GRAPHCORE_FAILED;
}

// Runs `work`, whose exceptions become a code and a text.
template <typename Work>
std::int32_t guarded(graphcore_text message, Work work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return say(message, code_of(e.what()), e.what());
  } catch (...) {
    return say(message, GRAPHCORE_FAILED, "an exception that is none of the standard's");
  }
}

std::optional<std::uint32_t> dtype_of(popef::DataType type) {
  static const std::map<popef::DataType, std::uint32_t> kTypes = {
      {popef::DataType::BOOL, ASSAY_BOOL},   {popef::DataType::F16, ASSAY_FLOAT16},
      {popef::DataType::F32, ASSAY_FLOAT32}, {popef::DataType::S8, ASSAY_INT8},
      {popef::DataType::U8, ASSAY_UINT8},    {popef::DataType::S16, ASSAY_INT16},
      {popef::DataType::U16, ASSAY_UINT16},  {popef::DataType::S32, ASSAY_INT32},
      {popef::DataType::U32, ASSAY_UINT32},  {popef::DataType::S64, ASSAY_INT64},
      {popef::DataType::U64, ASSAY_UINT64}};
  const auto found = kTypes.find(type);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

const char* version() { return "model_runtime of the Poplar SDK"; }

std::int32_t device_info(std::uint32_t* devices, graphcore_text message) {
  return guarded(message, [&] {
    model_runtime::DeviceManager manager;
    *devices = static_cast<std::uint32_t>(manager.getDevicesNumber());
    return GRAPHCORE_OK;
  });
}

std::int32_t load(const char* path, std::uint64_t timeout_ms, graphcore_executable** executable,
                  graphcore_text message) {
  return guarded(message, [&] {
    model_runtime::ModelRunnerConfig config;
    config.device_wait_config = model_runtime::DeviceWaitConfig{
        std::chrono::milliseconds(timeout_ms), std::chrono::seconds(1)};
    config.thread_safe = true;
    auto made = std::make_unique<graphcore_executable>();
    made->runner = std::make_unique<model_runtime::ModelRunner>(std::string(path), config);
    *executable = made.release();
    return GRAPHCORE_OK;
  });
}

std::int32_t describe(graphcore_executable* executable,
                      void (*add)(void*, std::int32_t, const graphcore_tensor*), void* context,
                      graphcore_text message) {
  return guarded(message, [&]() -> std::int32_t {
    const auto tell = [&](const auto& descriptions, std::int32_t is_input) -> std::int32_t {
      for (const auto& about : descriptions) {
        const auto dtype = dtype_of(about.data_type);
        if (!dtype)
          return say(message, GRAPHCORE_FAILED, about.name + ": a type without a name here");
        const graphcore_tensor tensor{about.name.c_str(),
                                      *dtype,
                                      static_cast<std::uint32_t>(about.shape.size()),
                                      about.shape.data(),
                                      about.size_in_bytes,
                                      nullptr};
        add(context, is_input, &tensor);
      }
      return GRAPHCORE_OK;
    };
    const std::int32_t inputs = tell(executable->runner->getExecuteInputs(), 1);
    return inputs != GRAPHCORE_OK ? inputs : tell(executable->runner->getExecuteOutputs(), 0);
  });
}

std::int32_t run(graphcore_executable* executable, const graphcore_tensor* inputs,
                 std::uint64_t input_count, const graphcore_tensor* outputs,
                 std::uint64_t output_count, std::uint64_t /*timeout_ms*/, graphcore_text message) {
  return guarded(message, [&] {
    model_runtime::InputMemoryView in;
    for (std::uint64_t i = 0; i < input_count; ++i) {
      in.emplace(inputs[i].name,
                 model_runtime::ConstTensorMemoryView(inputs[i].data, inputs[i].size_bytes));
    }
    model_runtime::OutputMemoryView out;
    for (std::uint64_t i = 0; i < output_count; ++i) {
      out.emplace(outputs[i].name,
                  model_runtime::TensorMemoryView(outputs[i].data, outputs[i].size_bytes));
    }
    executable->runner->execute(in, out);
    return GRAPHCORE_OK;
  });
}

std::int32_t close(graphcore_executable* executable, graphcore_text message) {
  const std::unique_ptr<graphcore_executable> owned(executable);
  return guarded(message, [&] {
    owned->runner.reset();
    return GRAPHCORE_OK;
  });
}

constexpr graphcore_module kModule = {
    GRAPHCORE_SEAM_VERSION, version, device_info, load, describe, run, nullptr, close};

}  // namespace

extern "C" __attribute__((visibility("default"))) const graphcore_module* graphcore_device_module(
    void) {
  return &kModule;
}
