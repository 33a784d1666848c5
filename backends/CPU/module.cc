#include "module.h"

#include <array>
#include <string>

#include "on_demand.h"
#include "onnxruntime/onnx_module.h"

namespace cpu {
namespace {

// Always there.
constexpr std::array<Module, 1> kModules = {{{"onnx", &onnx_version, &compile_onnx, &load_onnx}}};

constexpr std::array<OnDemandLibrary, 3> kLibraries = {
    {{"pt", "libassay_cpu_torch", "LibTorch"},
     {"saved_model", "libassay_cpu_openvino", "OpenVINO"},
     {"tflite", "libassay_cpu_openvino", "OpenVINO"}}};

void add(std::string& list, const std::string& item) {
  if (item.empty() || list.find(item) != std::string::npos) return;
  list += (list.empty() ? "" : ", ") + item;
}

}  // namespace

const Module& module_for(std::string_view format) {
  std::string known;
  for (const Module& module : kModules) {
    if (format == module.format) return module;
    add(known, module.format);
  }
  for (const OnDemandLibrary& library : kLibraries) {
    if (format == library.format) return open_module(library);
    add(known, library.format);
  }
  throw assay::backend::Error(ASSAY_UNIMPLEMENTED,
                              "the CPU backend has no runtime for model_format \"" +
                                  std::string(format) + "\"; it runs: " + known);
}

std::string runtime_versions() {
  std::string versions;
  for (const Module& module : kModules) add(versions, module.version());
  for (const OnDemandLibrary& library : kLibraries) add(versions, version_of(library));
  return versions;
}

}  // namespace cpu
