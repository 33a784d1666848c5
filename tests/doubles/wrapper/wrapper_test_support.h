#pragma once

// A model on WRAPPER with a fault, and on CPU beside it for the right answers.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/testing.h"
#include "host/backend.h"
#include "host/host_test_support.h"

namespace assay::host::testing {

using Values = std::vector<float>;

inline const Library& double_or_backend(const std::string& name, const std::string& folder) {
  static std::map<std::string, Library> opened;
  const auto found = opened.find(name);
  if (found != opened.end()) return found->second;
  const auto manifest = find_backend(name, {std::filesystem::path(ASSAY_BINARY_DIR) / folder});
  EXPECT_THAT(manifest, assay::testing::IsOk());
  auto library = Library::open(manifest->library_path());
  EXPECT_THAT(library, assay::testing::IsOk());
  return opened.emplace(name, *std::move(library)).first->second;
}
inline const Library& wrapper_library() { return double_or_backend("WRAPPER", "test_backends"); }
inline const Library& cpu_library() { return double_or_backend("CPU", "backends"); }

// Keeps the first output. Its memory is poisoned before the call; `before` runs when the backend
// asks for it, which is inside infer.
class PoisonedSink : public OutputSink {
 public:
  static constexpr float kPoison = -12345.5F;

  explicit PoisonedSink(std::function<void()> before = {}) : before_(std::move(before)) {}

  Result<std::span<std::byte>> allocate(std::size_t index, std::span<const std::int64_t> shape,
                                        std::size_t /*size_bytes*/) override {
    if (before_) before_();
    Tensor& output =
        outputs_
            .insert_or_assign(
                index,
                Tensor::make({"y", DType::kFloat32, Shape(shape.begin(), shape.end())}).value())
            .first->second;
    for (float& value : output.as<float>()) value = kPoison;
    return output.bytes();
  }
  Values values() const {
    const auto values = outputs_.at(0).as<float>();
    return {values.begin(), values.end()};
  }

 private:
  std::function<void()> before_;
  std::map<std::size_t, Tensor> outputs_;
};

// One input of a model of the tests or of the zoo.
struct Subject {
  std::string model_path;  // in the source tree
  std::string input;
  Shape sample;  // without the batch
  Json model_info = Json::object();
};

inline Subject fashion_cnn() {
  return {"model_zoo/fashion_mnist_cnn.onnx",
          "input",
          {1, 28, 28},
          {{"preprocess", {{"layout", "NCHW"}, {"mean", {0}}, {"scale", {255}}}},
           {"metric", {{"name", "top1"}, {"output", "logits"}, {"scores", "logits"}}}}};
}

inline std::size_t values_of(const Subject& subject) {
  std::size_t count = 1;
  for (const std::int64_t dim : subject.sample) count *= static_cast<std::size_t>(dim);
  return count;
}

// `count` values of 0..1, different for each seed.
inline Values picture(std::size_t count, std::size_t seed) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * (37 + 2 * seed) + 53 * seed) % 256) / 255;
  }
  return values;
}

template <typename... More>
Values joined(Values first, const More&... more) {
  (first.insert(first.end(), more.begin(), more.end()), ...);
  return first;
}

// A subject compiled on one backend. Handles that are loaded from it share the artifact.
class Compiled {
 public:
  Compiled(const Library& library, Subject subject, const Json& options)
      : library_(library), subject_(std::move(subject)) {
    Json model_info = subject_.model_info;
    const std::filesystem::path path =
        std::filesystem::path(ASSAY_SOURCE_DIR) / subject_.model_path;
    model_info["model"] = path.stem().native();
    model_info["model_path"] = path.native();
    model_info["model_format"] = "onnx";
    model_info["framework"] = "Onnx";
    configs_ = {{"workload", {{"batch_sizes", Json::array({1})}}},
                {"model_info", model_info},
                {"interact_info", options}};
    compile_ = compile();
  }

  const Status& status() const { return compile_; }
  Json result() const { return Json::parse(result_); }
  const std::filesystem::path& artifact() const { return artifact_.path(); }

  // Changes an option after compilation.
  void set(const std::string& name, const Json& value) { configs_["interact_info"][name] = value; }

  Result<RuntimeBackend> try_load() const {
    ASSIGN_OR_RETURN(RuntimeBackend runtime, RuntimeBackend::create(library_));
    LoadRequest request;
    request.configs = configs_.dump();
    request.compile_result = result_;
    request.artifact_folder = artifact_.path();
    RETURN_IF_ERROR(runtime.load(request));
    return runtime;
  }
  RuntimeBackend load() const {
    EXPECT_THAT(compile_, assay::testing::IsOk());
    auto runtime = try_load();
    EXPECT_THAT(runtime, assay::testing::IsOk());
    return *std::move(runtime);
  }

  // Input of the batch that `values` make.
  Tensor input(const Values& values) const {
    Shape shape = {static_cast<std::int64_t>(values.size() / values_of(subject_))};
    shape.insert(shape.end(), subject_.sample.begin(), subject_.sample.end());
    return tensor_of<float>(subject_.input, DType::kFloat32, shape, values);
  }
  Values infer(RuntimeBackend& runtime, const Values& values) const {
    const Tensor tensor = input(values);
    const TensorView view = tensor.view();
    PoisonedSink sink;
    EXPECT_THAT(runtime.infer({&view, 1}, sink), assay::testing::IsOk());
    return sink.values();
  }

 private:
  Status compile() {
    ASSIGN_OR_RETURN(CompileBackend compiler, CompileBackend::create(library_));
    NoData none;
    ASSIGN_OR_RETURN(result_, compiler.compile({configs_.dump(), artifact_.path(), {}}, none));
    return ok_status();
  }

  Library library_;
  Subject subject_;
  ScratchFolder artifact_;
  Json configs_;
  std::string result_;
  Status compile_;
};

// A fault's handle and the right answers beside it.
class WrapperTest : public ::testing::Test {
 protected:
  void use(const Subject& subject, const Json& options) {
    wrapped_ = std::make_unique<Compiled>(wrapper_library(), subject, options);
    handle_ = std::make_unique<RuntimeBackend>(wrapped_->load());
    cpu_ = std::make_unique<Compiled>(cpu_library(), subject, Json::object());
    reference_ = std::make_unique<RuntimeBackend>(cpu_->load());
  }
  void use_cnn(const Json& options) { use(fashion_cnn(), options); }
  void use_cnn_with(const std::string& fault) { use_cnn({{"fault", fault}}); }

  Values infer(const Values& values) { return wrapped_->infer(*handle_, values); }
  Values right(const Values& values) { return cpu_->infer(*reference_, values); }

  const Values a_ = picture(784, 1);
  const Values b_ = picture(784, 2);
  const Values c_ = picture(784, 3);
  std::unique_ptr<Compiled> wrapped_;
  std::unique_ptr<RuntimeBackend> handle_;
  std::unique_ptr<Compiled> cpu_;
  std::unique_ptr<RuntimeBackend> reference_;
};

}  // namespace assay::host::testing
