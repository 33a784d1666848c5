#pragma once

#include <optional>
#include <string>

#include "assay/backend.hpp"
#include "python_api.h"

namespace assay::python {

// RuntimeBackend<HW> of a Python folder. One predict at a time: published folders promise no more.
class RuntimeBackendPython : public backend::RuntimeBackend {
 public:
  std::string version() override;
  void load(const backend::LoadRequest& request) override;
  backend::Signature signature() override { return signature_; }
  void predict(const backend::Inputs& inputs, backend::Outputs& outputs) override;
  std::optional<std::int64_t> get_loaded_batch_size() override;
  std::string benchmark(backend::DataLoader& dataloader) override;
  void close() override;

  static const void* get_extension(const char* name);
  // JSON for the report: {"notes": [...], "interpreter_lock": {"calls", "wait_ns"}}.
  std::string facts();

 private:
  void give(PyObject* output, std::size_t index, backend::Outputs& outputs) const;

  backend::Signature signature_;
  Ref predict_;  // the bound function of the host module
};

}  // namespace assay::python
