#include "compile_backend_openvino.h"

#include "compile_model.h"
#include "options.h"

namespace openvino {

std::string CompileBackendOPENVINO::compile(const assay::backend::Document& configs,
                                            assay::backend::DataLoader& dataloader,
                                            assay::backend::CompileJob& job) {
  return compile_model(configs, dataloader, job, options_from_answers(configs), "");
}

}  // namespace openvino
