#pragma once

#include <string>

#include "assay/backend.hpp"

namespace kserve {

// Compiles nothing: the model is on the server. Finds out what is there, holds it against the model
// info, and settles by one trial how tensors travel. artifact.h says what it leaves.
class CompileBackendKSERVE : public assay::backend::CompileBackend {
 public:
  std::string hardware_type() override { return "KSERVE"; }
  std::string compile(const assay::backend::Document& configs,
                      assay::backend::DataLoader& dataloader,
                      assay::backend::CompileJob& job) override;
};

}  // namespace kserve
