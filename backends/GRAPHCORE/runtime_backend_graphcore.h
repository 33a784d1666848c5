#pragma once

#include <memory>
#include <optional>
#include <string>

#include "assay/backend.hpp"
#include "loaded_model.h"
#include "sdk/device.h"

namespace graphcore {

// Runs an artifact of CompileBackendGRAPHCORE by the model of the chip, or
// on a chip what the vendor's converter made. Any number of threads may
// predict at once.
class RuntimeBackendGRAPHCORE : public assay::backend::RuntimeBackend {
 public:
  std::string version() override;
  void load(const assay::backend::LoadRequest& request) override;
  assay::backend::Signature signature() override {
    return chip_ ? chip_->signature() : model_->signature();
  }
  // A call takes batches_per_step times replication_factor batches.
  std::optional<std::int64_t> get_loaded_batch_size() override {
    return chip_ ? std::nullopt : std::optional(model_->samples());
  }
  void predict(const assay::backend::Inputs& inputs, assay::backend::Outputs& outputs) override;
  assay::backend::ThreadRule thread_rule() override { return assay::backend::ThreadRule::kAny; }
  void close() override;
  // A call that fails leaves nothing behind.
  void recover() override {}

  static assay::backend::ProbeResult probe();
  static const void* get_extension(const char* name);

 private:
  // One sentence of what overflowed since load; "" when nothing did.
  std::string overflow_text() const;
  static std::int32_t collect(assay_runtime* runtime, const assay_text_sink* facts,
                              assay_error* error);

  std::unique_ptr<cpu::LogScope> log_scope_;
  // One of the two, after load.
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<Device> chip_;
};

}  // namespace graphcore
