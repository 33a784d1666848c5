#pragma once

#include <memory>
#include <string>

#include "assay/backend.hpp"
#include "loaded_model.h"

namespace openvino {

// Runs an artifact of CompileBackendOPENVINO. Any number of threads may predict at once.
class RuntimeBackendOPENVINO : public assay::backend::RuntimeBackend {
 public:
  std::string version() override;
  void load(const assay::backend::LoadRequest& request) override;
  assay::backend::Signature signature() override { return model_->signature(); }
  void predict(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs) override {
    model_->predict(inputs, outputs);
  }

  assay::backend::ThreadRule thread_rule() override { return assay::backend::ThreadRule::kAny; }
  void close() override { model_.reset(); }
  // A call that fails leaves nothing behind.
  void recover() override {}

  static assay::backend::ProbeResult probe();

 private:
  std::unique_ptr<LoadedModel> model_;
};

}  // namespace openvino
