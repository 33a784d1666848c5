#pragma once

#include <string>

#include "assay/backend.hpp"

namespace graphcore {

// Compiles ONNX models for the model of the chip.
class CompileBackendGRAPHCORE : public assay::backend::CompileBackend {
 public:
  std::string hardware_type() override { return "GRAPHCORE"; }
  std::string compile(const assay::backend::Document& configs,
                      assay::backend::DataLoader& dataloader,
                      assay::backend::CompileJob& job) override;
};

}  // namespace graphcore
