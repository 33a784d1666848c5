#pragma once

#include <memory>
#include <string>

#include "assay/backend.hpp"
#include "loaded_model.h"

namespace kserve {

// Calls the model of an artifact of CompileBackendKSERVE. Any number of threads may predict at
// once.
class RuntimeBackendKSERVE : public assay::backend::RuntimeBackend {
 public:
  std::string version() override;
  void load(const assay::backend::LoadRequest& request) override;
  assay::backend::Signature signature() override { return model_->signature(); }
  void predict(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs) override {
    model_->predict(inputs, outputs);
  }

  assay::backend::ThreadRule thread_rule() override { return assay::backend::ThreadRule::kAny; }
  void close() override { model_.reset(); }
  // A call that fails takes its connection with it, and nothing else.
  void recover() override {}

  // JSON for assay.facts/1.
  std::string facts() { return model_ ? model_->facts() : "{}"; }

  // The server's address is known with the answers only: it is asked in compile and load.
  static assay::backend::ProbeResult probe();
  static const void* get_extension(const char* name);

 private:
  std::unique_ptr<LoadedModel> model_;
};

}  // namespace kserve
