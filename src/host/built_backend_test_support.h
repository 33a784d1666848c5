#pragma once

// For tests of a built backend as Assay uses it: compiled, loaded and called through this room, on
// the small models of tests/data/models.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "tensor/tensor.h"

namespace assay::host::testing {

inline const std::filesystem::path kModels =
    std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/models";

class Silent : public LogSink {
 public:
  void write(std::uint32_t /*level*/, std::string_view /*line*/) override {}
};

// The library of a built backend in `folder`. `log` lives as long as the process, as the boundary
// wants it; without one, what the backend logs goes nowhere.
inline Library open_built(const std::string& hardware_type, const std::filesystem::path& folder,
                          LogSink* log = nullptr) {
  static Silent silent;
  const Result<Manifest> manifest = find_backend(hardware_type, {folder});
  EXPECT_THAT(manifest, assay::testing::IsOk());
  return *Library::open(manifest->library_path(), log == nullptr ? &silent : log);
}

// Keeps every output of a call.
class Kept : public OutputSink {
 public:
  Result<std::span<std::byte>> allocate(std::size_t index, std::span<const std::int64_t> shape,
                                        std::size_t size_bytes) override {
    shapes[index].assign(shape.begin(), shape.end());
    memory[index].assign(size_bytes + 64, std::byte{0xA5});  // poisoned
    void* at = memory[index].data();
    std::size_t room = memory[index].size();
    data[index] = {static_cast<std::byte*>(std::align(64, size_bytes, at, room)), size_bytes};
    return data[index];
  }
  template <typename T>
  std::vector<T> values(std::size_t index) const {
    std::vector<T> out(data.at(index).size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), data.at(index).data(), data.at(index).size());
    return out;
  }

  std::map<std::size_t, std::vector<std::int64_t>> shapes;
  std::map<std::size_t, std::vector<std::byte>> memory;
  std::map<std::size_t, std::span<std::byte>> data;
};

template <typename T>
Tensor tensor(const TensorSpec& spec, const std::vector<T>& values) {
  Tensor made = *Tensor::make(spec);
  EXPECT_EQ(made.bytes().size(), values.size() * sizeof(T));
  std::memcpy(made.bytes().data(), values.data(), made.bytes().size());
  return made;
}

template <typename... Tensors>
std::vector<Tensor> list(Tensors... tensors) {
  std::vector<Tensor> all;
  (all.push_back(std::move(tensors)), ...);
  return all;
}

inline constexpr std::size_t kImageValues = std::size_t{3} * 32 * 32;

inline std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 50.0F;
  }
  return values;
}

// A run of the backend in a few words.
class BuiltBackend : public ::testing::Test {
 protected:
  // `name` begins the name of the test's folder.
  BuiltBackend(const Library& library, const std::string& name)
      : folder_(std::filesystem::path(::testing::TempDir()) /
                (name + "-" + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
                 "-" + std::to_string(::getpid()))),
        library_(&library) {}
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(artifact());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Json configs_of(const std::filesystem::path& model, const std::string& format = "onnx",
                         std::int64_t batch_size = 1) {
    return {{"workload", {{"batch_sizes", Json::array({batch_size})}}},
            {"model_info",
             {{"model", model.stem().native()},
              {"model_path", model.native()},
              {"model_format", format},
              {"framework", "Onnx"}}},
            {"interact_info", Json::object()}};
  }
  static std::filesystem::path model_path(const std::string& name) {
    return kModels / (name + ".onnx");
  }
  std::filesystem::path artifact() const { return folder_ / "artifact"; }

  // Into an empty folder, as the boundary promises.
  Result<Json> compile(const Json& configs) const {
    std::filesystem::remove_all(artifact());
    std::filesystem::create_directory(artifact());
    ASSIGN_OR_RETURN(CompileBackend compiler, CompileBackend::create(*library_));
    NoData none;
    ASSIGN_OR_RETURN(const std::string result,
                     compiler.compile({configs.dump(), artifact(), {}}, none));
    return Json::parse(result);
  }

  Result<RuntimeBackend> load(const Json& configs, const Json& result,
                              std::int64_t batch_size = 1) const {
    ASSIGN_OR_RETURN(RuntimeBackend runtime, RuntimeBackend::create(*library_));
    LoadRequest request;
    request.configs = configs.dump();
    request.compile_result = result.dump();
    request.artifact_folder = artifact();
    request.batch_size = batch_size;
    RETURN_IF_ERROR(runtime.load(request));
    return runtime;
  }

  // Compiled and loaded; a failure fails the test.
  RuntimeBackend ready_from(const Json& configs, std::int64_t batch_size = 1) const {
    const Result<Json> result = compile(configs);
    EXPECT_THAT(result, assay::testing::IsOk());
    Result<RuntimeBackend> runtime = load(configs, *result, batch_size);
    EXPECT_THAT(runtime, assay::testing::IsOk());
    return *std::move(runtime);
  }

  static Kept infer(RuntimeBackend& runtime, const std::vector<Tensor>& tensors) {
    std::vector<TensorView> views;
    views.reserve(tensors.size());
    for (const Tensor& one : tensors) views.push_back(one.view());
    Kept outputs;
    EXPECT_THAT(runtime.infer(views, outputs), assay::testing::IsOk());
    return outputs;
  }

  const std::filesystem::path folder_;

 private:
  const Library* library_;
};

}  // namespace assay::host::testing
