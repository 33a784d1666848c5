// A complete backend: runs y = x W + b over images of 28x28, with the weights that lie beside the
// model (model/make_model.py). A real one hands the model file to its compiler instead.

#include <assay/backend.hpp>
#include <filesystem>
#include <fstream>

using namespace assay::backend;

constexpr std::size_t kPixels = 784, kClasses = 10, kValues = kPixels * kClasses + kClasses;
constexpr std::int64_t kMaxBatch = 1024;

class CompileBackendLINEAR : public CompileBackend {
 public:
  std::string hardware_type() override { return "LINEAR"; }

  std::string compile(const Document& configs, DataLoader&, CompileJob& job) override {
    std::filesystem::path weights = configs.text("model_info.model_path");
    weights.replace_extension(".weights");
    if (!std::filesystem::exists(weights)) {
      throw Error(ASSAY_NOT_FOUND, "this backend needs " + weights.string());
    }
    std::filesystem::copy_file(weights, job.path("weights"));
    CompileResult result;
    result.model = configs.text("model_info.name", "linear");
    result.framework = configs.text("model_info.framework", "Onnx");
    result.compile_precision = "FP32";
    result.input_type = {"FLOAT32"};
    result.max_batch_size = kMaxBatch;
    result.objects = {{1, "weights"}};
    return result.to_json();
  }
};

class RuntimeBackendLINEAR : public RuntimeBackend {
 public:
  std::string version() override { return "linear 1.0"; }

  void load(const LoadRequest& request) override {
    if (request.batch_size > kMaxBatch) throw Error(ASSAY_OUT_OF_RANGE, "batch is above 1024");
    const auto file = request.compile_result.text("segments.0.compiled_model.0.compiled_obj");
    std::ifstream weights(request.path(file), std::ios::binary);
    weights_.resize(kValues);
    if (!weights.read(reinterpret_cast<char*>(weights_.data()), kValues * sizeof(float))) {
      throw Error(ASSAY_DATA_LOSS, file + " is truncated");
    }
  }

  Signature signature() override {
    return {{{"input", DType::kFloat32, {-1, 1, 28, 28}}},
            {{"logits", DType::kFloat32, {-1, kClasses}}}};
  }
  ThreadRule thread_rule() override { return ThreadRule::kAny; }

  void predict(const Inputs& inputs, Outputs& outputs) override {
    const auto* x = inputs[0].data<float>();
    const auto batch = inputs[0].dim(0);
    auto* y = outputs.allocate<float>(0, {batch, kClasses});
    for (std::int64_t sample = 0; sample < batch; ++sample, x += kPixels, y += kClasses) {
      std::copy_n(&weights_[kPixels * kClasses], kClasses, y);
      for (std::size_t p = 0; p < kPixels; ++p) {
        for (std::size_t k = 0; k < kClasses; ++k) y[k] += x[p] * weights_[p * kClasses + k];
      }
    }
  }

 private:
  std::vector<float> weights_;
};

ASSAY_EXPORT_BACKEND(CompileBackendLINEAR, RuntimeBackendLINEAR)
