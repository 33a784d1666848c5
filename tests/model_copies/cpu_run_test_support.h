#pragma once

// Runs model files on the CPU backend, in the test's own process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "tensor/tensor.h"

namespace assay::testing {

// What a call takes and gives, by name.
using Tensors = std::map<std::string, Tensor>;

class Silent : public host::LogSink {
 public:
  void write(std::uint32_t /*level*/, std::string_view /*line*/) override {}
};

inline const host::Library& cpu_library() {
  static Silent silent;  // the boundary wants it to live as long as the process
  static const host::Library kOpened = [] {
    const auto manifest = host::find_backend("CPU", {ASSAY_CPU_BACKENDS});
    EXPECT_THAT(manifest, IsOk());
    return *host::Library::open(manifest->library_path(), &silent);
  }();
  return kOpened;
}

// Makes a tensor of each output.
class TensorSink : public host::OutputSink {
 public:
  explicit TensorSink(std::vector<TensorSpec> specs) : specs_(std::move(specs)) {}

  Result<std::span<std::byte>> allocate(std::size_t index, std::span<const std::int64_t> shape,
                                        std::size_t size_bytes) override {
    TensorSpec spec = specs_.at(index);
    spec.shape.assign(shape.begin(), shape.end());
    ASSIGN_OR_RETURN(Tensor made, Tensor::make(spec));
    const std::string name = spec.name;
    const auto at = tensors.insert_or_assign(name, std::move(made)).first;
    return at->second.bytes().first(size_bytes);
  }

  Tensors tensors;

 private:
  std::vector<TensorSpec> specs_;
};

// A model compiled and loaded. Without optimisation by default, so that the runtime computes each
// operator as the file has it.
class CpuModel {
 public:
  explicit CpuModel(const std::filesystem::path& model, std::int64_t batch_size = 1,
                    const std::string& optimization = "none")
      : artifact_(std::filesystem::path(model.native() + ".artifact")) {
    std::filesystem::remove_all(artifact_);
    std::filesystem::create_directories(artifact_);
    const Json configs = {{"workload", {{"batch_sizes", Json::array({batch_size})}}},
                          {"model_info",
                           {{"model", model.stem().native()},
                            {"model_path", model.native()},
                            {"model_format", "onnx"},
                            {"framework", "Onnx"}}},
                          {"interact_info", {{"graph_optimization", optimization}}}};
    auto compiler = host::CompileBackend::create(cpu_library());
    EXPECT_THAT(compiler, IsOk());
    host::NoData none;
    const auto result = compiler->compile({configs.dump(), artifact_, {}}, none);
    EXPECT_THAT(result, IsOk());
    auto runtime = host::RuntimeBackend::create(cpu_library());
    EXPECT_THAT(runtime, IsOk());
    host::LoadRequest request;
    request.configs = configs.dump();
    request.compile_result = result.ok() ? *result : "";
    request.artifact_folder = artifact_;
    request.batch_size = batch_size;
    EXPECT_THAT(runtime->load(request), IsOk());
    runtime_ = std::make_unique<host::RuntimeBackend>(*std::move(runtime));
  }

  // `inputs` may hold more than the model takes.
  Tensors run(const Tensors& inputs) {
    std::vector<TensorView> views;
    for (const TensorSpec& spec : runtime_->signature().inputs) {
      EXPECT_TRUE(inputs.contains(spec.name)) << spec.name;
      views.push_back(inputs.at(spec.name).view());
    }
    TensorSink sink(runtime_->signature().outputs);
    EXPECT_THAT(runtime_->infer(views, sink), IsOk());
    return std::move(sink.tensors);
  }

 private:
  std::filesystem::path artifact_;
  std::unique_ptr<host::RuntimeBackend> runtime_;
};

template <typename T>
Tensor tensor_of(const TensorSpec& spec, const std::vector<T>& values) {
  Tensor made = *Tensor::make(spec);
  EXPECT_EQ(made.bytes().size(), values.size() * sizeof(T));
  std::memcpy(made.bytes().data(), values.data(), made.bytes().size());
  return made;
}

inline Tensors one_tensor(Tensor tensor) {
  Tensors tensors;
  const std::string name = tensor.view().spec.name;
  tensors.emplace(name, std::move(tensor));
  return tensors;
}

inline std::vector<float> floats(const Tensors& tensors, const std::string& name) {
  const auto values = tensors.at(name).view().as<float>();
  return {values.begin(), values.end()};
}

// Distinct values between 0 and 1, as pixels have.
inline std::vector<float> pixels(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i * 7919 % 10007) / 10007.0F;
  }
  return values;
}

}  // namespace assay::testing
