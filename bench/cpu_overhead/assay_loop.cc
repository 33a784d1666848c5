#include "assay_loop.h"

#include <stdlib.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "host/backend.h"

namespace assay::bench {
namespace {

namespace fs = std::filesystem;

// Room for the outputs of the models measured here.
constexpr std::size_t kOutputBytes = std::size_t{1} << 20;

// Gives each output the same memory again, as the slots of a worker do.
class OneSlot : public host::OutputSink {
 public:
  OneSlot() : memory_(*Tensor::make({"", DType::kUInt8, {std::int64_t{kOutputBytes}}})) {}

  Result<std::span<std::byte>> allocate(std::size_t /*output_index*/,
                                        std::span<const std::int64_t> /*shape*/,
                                        std::size_t size_bytes) override {
    if (size_bytes > kOutputBytes) return resource_exhausted("the output is larger than its slot");
    used_bytes_ = size_bytes;
    return memory_.bytes().first(size_bytes);
  }
  std::span<const float> floats() const {
    return memory_.as<float>().first(used_bytes_ / sizeof(float));
  }

 private:
  Tensor memory_;
  std::size_t used_bytes_ = 0;
};

class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> make() {
    std::string path = fs::temp_directory_path() / "cpu-overhead-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) return errno_status(errno, path);
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

std::string configs_of(const fs::path& model, std::int64_t batch) {
  return Json({{"workload", {{"batch_sizes", {batch}}}},
               {"model_info",
                {{"model", model.stem().native()},
                 {"model_path", fs::absolute(model).native()},
                 {"model_format", "onnx"}}},
               {"interact_info", {{"intra_op_threads", "1"}}}})
      .dump();
}

}  // namespace

struct AssayLoop::State {
  std::unique_ptr<TemporaryFolder> folder;
  std::optional<host::RuntimeBackend> runtime;
  std::vector<std::vector<TensorView>> inputs;  // by batch
  OneSlot outputs;
};

Result<std::unique_ptr<AssayLoop>> AssayLoop::make(const fs::path& model,
                                                   const std::vector<std::int64_t>& input_shape,
                                                   const std::vector<std::span<float>>& inputs) {
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->folder, TemporaryFolder::make());
  ASSIGN_OR_RETURN(const host::Manifest manifest,
                   host::find_backend("CPU", {ASSAY_BACKENDS_FOLDER}));
  ASSIGN_OR_RETURN(const host::Library library, host::Library::open(manifest.library_path()));
  const std::int64_t batch = input_shape.front();
  const std::string configs = configs_of(model, batch);

  ASSIGN_OR_RETURN(host::CompileBackend compiler, host::CompileBackend::create(library));
  host::NoData no_data;
  host::LoadRequest request;
  ASSIGN_OR_RETURN(request.compile_result,
                   compiler.compile({configs, state->folder->path(), {}}, no_data));
  request.configs = configs;
  request.artifact_folder = state->folder->path();
  request.batch_size = batch;
  ASSIGN_OR_RETURN(state->runtime, host::RuntimeBackend::create(library));
  RETURN_IF_ERROR(state->runtime->load(request));
  const std::string name = state->runtime->signature().inputs.front().name;
  for (const std::span<float> input : inputs) {
    state->inputs.push_back({{{name, DType::kFloat32, input_shape}, std::as_bytes(input)}});
  }
  return std::unique_ptr<AssayLoop>(new AssayLoop(std::move(state)));
}

AssayLoop::AssayLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}
AssayLoop::~AssayLoop() = default;

Status AssayLoop::run(std::size_t index) {
  return state_->runtime->infer(state_->inputs[index], state_->outputs);
}
std::span<const float> AssayLoop::output() const { return state_->outputs.floats(); }

}  // namespace assay::bench
