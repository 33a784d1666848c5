#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/backend.hpp"

namespace assay::python {

// CompileBackend<HW> of a Python folder.
class CompileBackendPython : public backend::CompileBackend {
 public:
  std::string hardware_type() override;
  bool need_reload() override;
  bool need_quant() override;
  std::string get_interact_profile(const backend::Document& configs) override;
  std::optional<std::string> pre_optimize(const backend::Document& configs,
                                          const std::string& folder) override;
  std::optional<std::vector<std::int64_t>> get_best_batch_size() override;
  std::string compile(const backend::Document& configs, backend::DataLoader& dataloader,
                      backend::CompileJob& job) override;
};

}  // namespace assay::python
