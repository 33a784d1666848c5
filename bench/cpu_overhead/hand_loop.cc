#include "hand_loop.h"

#include <dlfcn.h>
#include <onnxruntime_cxx_api.h>

#include <string>
#include <utility>

namespace assay::bench {
namespace {

// Initialises the C++ interface with the library that the backend opens too.
Status open_onnxruntime() {
  void* const library = dlopen(ASSAY_ONNXRUNTIME_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return unavailable(dlerror());  // NOLINT(concurrency-mt-unsafe)
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (base == nullptr) return unavailable("no OrtGetApiBase");
  Ort::InitApi(base()->GetApi(ORT_API_VERSION));
  return ok_status();
}

std::vector<std::int64_t> at_batch(std::vector<std::int64_t> shape, std::int64_t batch) {
  shape.front() = batch;
  return shape;
}

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t dim : shape) count *= static_cast<std::size_t>(dim);
  return count;
}

Ort::Value wrap(std::span<float> values, const std::vector<std::int64_t>& shape) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeCPU);
  return Ort::Value::CreateTensor<float>(memory, values.data(), values.size(), shape.data(),
                                         shape.size());
}

Ort::SessionOptions one_thread() {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  options.SetGraphOptimizationLevel(ORT_ENABLE_ALL);
  return options;
}

}  // namespace

struct HandLoop::State {
  State(const std::filesystem::path& model, std::int64_t batch)
      : env(ORT_LOGGING_LEVEL_ERROR, "hand"), session(env, model.c_str(), one_thread()) {
    const Ort::AllocatorWithDefaultOptions allocator;
    input_name = session.GetInputNameAllocated(0, allocator).get();
    output_name = session.GetOutputNameAllocated(0, allocator).get();
    const Ort::TypeInfo input_type = session.GetInputTypeInfo(0);
    const Ort::TypeInfo output_type = session.GetOutputTypeInfo(0);
    input_shape = at_batch(input_type.GetTensorTypeAndShapeInfo().GetShape(), batch);
    output_shape = at_batch(output_type.GetTensorTypeAndShapeInfo().GetShape(), batch);
    output.resize(count_of(output_shape));
    output_value = wrap(output, output_shape);
  }

  Ort::Env env;
  Ort::Session session;
  std::string input_name;
  std::string output_name;
  std::vector<std::int64_t> input_shape;
  std::vector<std::int64_t> output_shape;
  std::vector<float> output;
  std::vector<Ort::Value> input_values;
  Ort::Value output_value{nullptr};
};

Result<std::unique_ptr<HandLoop>> HandLoop::make(const std::filesystem::path& model,
                                                 std::int64_t batch) {
  static const Status kOpened = open_onnxruntime();
  RETURN_IF_ERROR(kOpened);
  try {
    return std::unique_ptr<HandLoop>(new HandLoop(std::make_unique<State>(model, batch)));
  } catch (const Ort::Exception& e) {
    return Status(StatusCode::kUnknown, e.what());
  }
}

HandLoop::HandLoop(std::unique_ptr<State> state) : state_(std::move(state)) {}
HandLoop::~HandLoop() = default;

const std::vector<std::int64_t>& HandLoop::input_shape() const { return state_->input_shape; }

void HandLoop::set_inputs(const std::vector<std::span<float>>& inputs) {
  for (const std::span<float> input : inputs) {
    state_->input_values.push_back(wrap(input, state_->input_shape));
  }
}

std::span<const float> HandLoop::output() const { return state_->output; }

void HandLoop::run(std::size_t index) {
  const char* const input_name = state_->input_name.c_str();
  const char* const output_name = state_->output_name.c_str();
  state_->session.Run(Ort::RunOptions{nullptr}, &input_name, &state_->input_values[index], 1,
                      &output_name, &state_->output_value, 1);
}

}  // namespace assay::bench
