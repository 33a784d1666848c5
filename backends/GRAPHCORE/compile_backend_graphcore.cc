#include "compile_backend_graphcore.h"

#include "compile_model.h"
#include "onnxruntime/ort.h"
#include "options.h"

namespace graphcore {

std::string CompileBackendGRAPHCORE::compile(const assay::backend::Document& configs,
                                             assay::backend::DataLoader& dataloader,
                                             assay::backend::CompileJob& job) {
  const cpu::LogScope scope(
      [this](std::uint32_t level, std::string_view line) { log(level, line); });
  return compile_model(configs, dataloader, job, options_from_answers(configs));
}

}  // namespace graphcore
