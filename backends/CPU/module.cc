#include "module.h"

#include <array>

#include "onnxruntime/onnx_module.h"

namespace cpu {
namespace {

const std::array<Module, 1>& modules() {
  static constexpr std::array<Module, 1> kModules = {
      {{"onnx", &onnx_version, &compile_onnx, &load_onnx}}};
  return kModules;
}

}  // namespace

const Module& module_for(std::string_view format) {
  std::string known;
  for (const Module& module : modules()) {
    if (format == module.format) return module;
    known += known.empty() ? module.format : std::string(", ") + module.format;
  }
  throw assay::backend::Error(ASSAY_UNIMPLEMENTED,
                              "the CPU backend has no runtime for model_format \"" +
                                  std::string(format) + "\"; it runs: " + known);
}

std::string runtime_versions() {
  std::string versions;
  for (const Module& module : modules()) {
    versions += versions.empty() ? module.version() : ", " + module.version();
  }
  return versions;
}

}  // namespace cpu
