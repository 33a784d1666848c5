// install_check BACKENDS MODEL ARTIFACT: the example backend found, opened, compiled, loaded and
// called, and every branch of it that can refuse. Exit code 0 when all of it is right.

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "host/backend.h"

namespace assay::host {
namespace {

namespace fs = std::filesystem;

class KeepingSink : public OutputSink {
 public:
  Result<std::span<std::byte>> allocate(std::size_t, std::span<const std::int64_t> shape,
                                        std::size_t size_bytes) override {
    rows = shape[0];
    values.resize(size_bytes / sizeof(float));
    return std::as_writable_bytes(std::span(values));
  }
  std::int64_t rows = 0;
  std::vector<float> values;
};

Status expect(bool condition, const char* what) {
  return condition ? ok_status() : internal_error(fmt::format("expected: {}", what));
}

std::string configs_of(const fs::path& model) {
  return fmt::format(R"({{"model_info": {{"model_path": "{}"}}}})", model.string());
}

// A black image gives the biases, the last ten numbers of the weights; a white one more.
Status check_answers(RuntimeBackend& runtime, const fs::path& weights_file) {
  ASSIGN_OR_RETURN(const std::string weights, read_file(weights_file));
  ASSIGN_OR_RETURN(Tensor images, Tensor::make({"input", DType::kFloat32, {2, 1, 28, 28}}));
  for (float& pixel : images.as<float>().subspan(784)) pixel = 1;
  const TensorView view = images.view();
  KeepingSink sink;
  RETURN_IF_ERROR(runtime.infer({&view, 1}, sink));
  RETURN_IF_ERROR(expect(sink.rows == 2 && sink.values.size() == 20, "two rows of ten logits"));
  std::array<float, 7850> numbers;
  RETURN_IF_ERROR(expect(weights.size() == sizeof numbers, "7850 weights"));
  std::memcpy(numbers.data(), weights.data(), sizeof numbers);
  for (std::size_t k = 0; k < 10; ++k) {
    float white = numbers[7840 + k];
    for (std::size_t pixel = 0; pixel < 784; ++pixel) white += numbers[pixel * 10 + k];
    RETURN_IF_ERROR(expect(sink.values[k] == numbers[7840 + k], "the bias for a black image"));
    RETURN_IF_ERROR(expect(sink.values[10 + k] == white, "bias and all weights for a white one"));
  }
  return ok_status();
}

Status check(const fs::path& backends, const fs::path& model, const fs::path& artifact) {
  ASSIGN_OR_RETURN(const Manifest manifest, find_backend("LINEAR", {backends}));
  ASSIGN_OR_RETURN(const Library library, Library::open(manifest.library_path()));
  ASSIGN_OR_RETURN(CompileBackend compiler, CompileBackend::create(library));
  ASSIGN_OR_RETURN(const CompileTraits traits, compiler.traits());
  RETURN_IF_ERROR(expect(traits.hardware_type == manifest.hardware_type, "the manifest's name"));

  NoData none;
  const Result<std::string> without =
      compiler.compile({configs_of("/nowhere/x.onnx"), artifact, nullptr}, none);
  RETURN_IF_ERROR(expect(without.status().code() == StatusCode::kNotFound, "no weights refused"));
  ASSIGN_OR_RETURN(const std::string result,
                   compiler.compile({configs_of(model), artifact, nullptr}, none));

  ASSIGN_OR_RETURN(RuntimeBackend runtime, RuntimeBackend::create(library));
  LoadRequest request;
  request.configs = configs_of(model);
  request.compile_result = result;
  request.artifact_folder = artifact;
  request.batch_size = 2;
  RETURN_IF_ERROR(runtime.load(request));
  RETURN_IF_ERROR(check_answers(runtime, artifact / "weights"));

  RETURN_IF_ERROR(write_file_atomic(artifact / "weights", "short"));
  RETURN_IF_ERROR(expect(runtime.load(request).code() == StatusCode::kDataLoss, "truncated"));
  return runtime.close();
}

}  // namespace
}  // namespace assay::host

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const assay::Status status = assay::host::check(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
