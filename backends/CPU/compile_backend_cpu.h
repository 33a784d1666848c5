#pragma once

#include <string>

#include "assay/backend.hpp"

namespace cpu {

// Hands the model to the module of its format. The artifact is a folder that stands alone:
// options.json and what the module puts beside it.
class CompileBackendCPU : public assay::backend::CompileBackend {
 public:
  std::string hardware_type() override { return "CPU"; }
  std::string compile(const assay::backend::Document& configs,
                      assay::backend::DataLoader& dataloader,
                      assay::backend::CompileJob& job) override;
};

}  // namespace cpu
