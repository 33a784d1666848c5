#pragma once

#include <string>

#include "assay/backend.hpp"

namespace openvino {

// Reads a model in any of OpenVINO's formats and compiles it for every batch size of the workload.
// artifact.h says what it leaves.
class CompileBackendOPENVINO : public assay::backend::CompileBackend {
 public:
  std::string hardware_type() override { return "OPENVINO"; }
  std::string compile(const assay::backend::Document& configs,
                      assay::backend::DataLoader& dataloader,
                      assay::backend::CompileJob& job) override;
};

}  // namespace openvino
