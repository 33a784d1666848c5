#include "compile_backend_cpu.h"

#include <cstdint>
#include <string_view>

#include "module.h"
#include "options.h"

namespace cpu {

std::string CompileBackendCPU::compile(const assay::backend::Document& configs,
                                       assay::backend::DataLoader& dataloader,
                                       assay::backend::CompileJob& job) {
  CompileSetup setup{options_from_answers(configs), {}};
  const Module& module = module_for(configs.text("model_info.model_format", "onnx"));
  setup.log = [this](std::uint32_t level, std::string_view line) { log(level, line); };
  return module.compile(configs, dataloader, job, setup);
}

}  // namespace cpu
