// The same call in C++: an input of 600 kB that nobody reads, and ten numbers.

#include <algorithm>
#include <string>

#include "assay/backend.hpp"

namespace {

namespace backend = assay::backend;

class CompileBackendNothing : public backend::CompileBackend {
 public:
  std::string hardware_type() override { return "NOTHING_CPP"; }
  std::string compile(const backend::Document& /*configs*/, backend::DataLoader& /*dataloader*/,
                      backend::CompileJob& /*job*/) override {
    return "{}";
  }
};

class RuntimeBackendNothing : public backend::RuntimeBackend {
 public:
  std::string version() override { return "1"; }
  void load(const backend::LoadRequest& /*request*/) override {}
  backend::Signature signature() override {
    return {{{"x", backend::DType::kFloat32, {1, 3, 224, 224}}},
            {{"y", backend::DType::kFloat32, {1, 10}}}};
  }
  void predict(const backend::Inputs& /*inputs*/, backend::Outputs& outputs) override {
    std::fill_n(outputs.allocate<float>(0, {1, 10}), 10, 0.0F);
  }
};

}  // namespace

ASSAY_EXPORT_BACKEND(CompileBackendNothing, RuntimeBackendNothing)
