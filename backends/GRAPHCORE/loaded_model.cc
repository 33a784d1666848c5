#include "loaded_model.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <utility>

namespace graphcore {
namespace {

using assay::backend::Document;
using assay::backend::Error;
using assay::backend::Inputs;
using assay::backend::Outputs;
using assay::backend::Tensor;
using assay::backend::TensorSpec;

std::string shape_text(const std::int64_t* dims, std::size_t rank) {
  std::string text = "[";
  for (std::size_t i = 0; i < rank; ++i) text += (i > 0 ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

void check_int32(const Tensor& tensor) {
  const std::size_t count = tensor.size_bytes() / sizeof(std::int64_t);
  const auto* const values = tensor.data<std::int64_t>();
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] >= std::numeric_limits<std::int32_t>::min() &&
        values[i] <= std::numeric_limits<std::int32_t>::max()) {
      continue;
    }
    throw Error(ASSAY_OUT_OF_RANGE, std::string("input \"") + tensor.name() + "\": found " +
                                        std::to_string(values[i]) + " at element " +
                                        std::to_string(i) + ", the IPU has 32-bit integers only");
  }
}

std::uint64_t drawn_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

}  // namespace

LoadedModel::LoadedModel(Artifact artifact, const Document& configs, std::int64_t batch,
                         int threads)
    : runtime_(OnnxRuntime::open()),
      artifact_(std::move(artifact)),
      batch_(batch),
      steps_(samples_per_call(1, artifact_.options.batches_per_step,
                              artifact_.options.replication_factor)),
      state_(artifact_.options, artifact_.sites.size()),
      operators_(state_) {
  draws_each_call_ = !artifact_.options.seed.has_value();
  if (artifact_.options.rounds_randomly()) {
    seed_ = draws_each_call_ ? drawn_seed() : *artifact_.options.seed;
  }
  session_ = make_session(*runtime_, bytes_of(artifact_.model), &operators_, threads);
  artifact_.model.Clear();  // the session has its own copy of the weights
  read_signature(configs);
}

void LoadedModel::read_signature(const Document& configs) {
  std::size_t input = 0;
  std::size_t output = 0;
  for (const Anchor& anchor : artifact_.anchors) {
    const Ort::TypeInfo type =
        anchor.is_input ? session_.GetInputTypeInfo(input++) : session_.GetOutputTypeInfo(output++);
    const auto info = type.GetTensorTypeAndShapeInfo();
    TensorSpec spec{anchor.name, cpu::dtype_of(info.GetElementType(), anchor.name), anchor.shape};
    if (!anchor.is_input) {
      if (steps_ > 1 && !anchor.batched) {
        throw Error(ASSAY_UNIMPLEMENTED, "output \"" + anchor.name +
                                             "\" does not grow with the batch: batches_per_step "
                                             "and replication_factor must be 1");
      }
      if (steps_ > 1 && !spec.shape.empty() && spec.shape[0] > 0) spec.shape[0] *= steps_;
      output_types_.push_back(info.GetElementType());
      signature_.outputs.push_back(std::move(spec));
      output_names_.push_back(anchor.name.c_str());
      continue;
    }
    InputPlan plan{info.GetElementType(), batch_axis_of(configs, anchor.name, spec.shape.size()),
                   -1, info.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64};
    if (plan.batch_axis > 0 && steps_ > 1) {
      throw Error(ASSAY_UNIMPLEMENTED, "input \"" + anchor.name + "\" has its samples along axis " +
                                           std::to_string(plan.batch_axis) +
                                           ": batches_per_step and replication_factor must be 1");
    }
    if (plan.batch_axis == 0) {
      const std::int64_t per_sample = std::max<std::int64_t>(
          1, configs.integer("model_info.input_shape." + anchor.name + ".0", 1));
      plan.rows = batch_ * per_sample;
      if (spec.shape[0] >= 0 && spec.shape[0] != plan.rows) {
        throw Error(ASSAY_INVALID_ARGUMENT,
                    "the model's batch is fixed: input \"" + anchor.name + "\" has " +
                        std::to_string(spec.shape[0]) + " rows, a batch of " +
                        std::to_string(batch_) + " needs " + std::to_string(plan.rows) +
                        "; run batch size " +
                        std::to_string(std::max<std::int64_t>(1, spec.shape[0] / per_sample)));
      }
      if (spec.shape[0] >= 0) spec.shape[0] *= steps_;
    }
    plans_.push_back(plan);
    signature_.inputs.push_back(std::move(spec));
    input_names_.push_back(anchor.name.c_str());
  }
  if (artifact_.options.rounds_randomly()) input_names_.push_back(kSeedInput);
}

void LoadedModel::check_inputs(const Inputs& inputs) const {
  if (inputs.size() != plans_.size()) {
    throw Error(ASSAY_INVALID_ARGUMENT, "got " + std::to_string(inputs.size()) +
                                            " inputs, the model takes " +
                                            std::to_string(plans_.size()));
  }
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const Tensor tensor = inputs[i];
    const TensorSpec& spec = signature_.inputs[i];
    bool fits = tensor.dtype() == spec.dtype && tensor.rank() == spec.shape.size();
    std::size_t size_bytes = size_of(spec.dtype);
    for (std::size_t axis = 0; fits && axis < spec.shape.size(); ++axis) {
      fits = spec.shape[axis] < 0 || spec.shape[axis] == tensor.dim(axis);
      size_bytes *= static_cast<std::size_t>(tensor.dim(axis));
    }
    // Fewer rows than a call would leave the last step without data.
    if (fits && plans_[i].batch_axis == 0 && steps_ > 1) {
      fits = tensor.dim(0) == plans_[i].rows * steps_;
    }
    if (!fits || size_bytes != tensor.size_bytes()) {
      throw Error(ASSAY_INVALID_ARGUMENT,
                  "input \"" + spec.name + "\": got " + std::to_string(tensor.size_bytes()) +
                      " bytes of shape " + shape_text(tensor.shape(), tensor.rank()) +
                      ", a call takes shape " + shape_text(spec.shape.data(), spec.shape.size()) +
                      " with " + std::to_string(samples()) + " samples");
    }
    if (plans_[i].checks_range) check_int32(tensor);
  }
}

std::vector<Ort::Value> LoadedModel::step_inputs(const Inputs& inputs, std::int64_t step,
                                                 std::int64_t& seed) const {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeCPU);
  std::vector<Ort::Value> values;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const Tensor tensor = inputs[i];
    std::vector<std::int64_t> shape(tensor.shape(), tensor.shape() + tensor.rank());
    std::size_t size_bytes = tensor.size_bytes();
    std::size_t offset = 0;
    if (steps_ > 1 && plans_[i].batch_axis == 0) {
      shape[0] /= steps_;
      size_bytes /= static_cast<std::size_t>(steps_);
      offset = static_cast<std::size_t>(step) * size_bytes;
    }
    auto* const data = const_cast<char*>(tensor.data<char>());
    static char nothing = 0;  // without elements there may be no memory
    values.push_back(Ort::Value::CreateTensor(memory, data != nullptr ? data + offset : &nothing,
                                              size_bytes, shape.data(), shape.size(),
                                              plans_[i].type));
  }
  if (artifact_.options.rounds_randomly()) {
    constexpr std::int64_t kOne = 1;
    values.push_back(Ort::Value::CreateTensor<std::int64_t>(memory, &seed, 1, &kOne, 1));
  }
  return values;
}

void LoadedModel::store(std::vector<Ort::Value> results, std::int64_t step,
                        std::vector<void*>& memory, std::vector<std::size_t>& step_bytes,
                        Outputs& outputs) const {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto info = results[i].GetTensorTypeAndShapeInfo();
    std::vector<std::int64_t> shape = info.GetShape();
    const std::size_t size_bytes = info.GetElementCount() * size_of(signature_.outputs[i].dtype);
    if (step == 0) {
      if (steps_ > 1) {
        if (shape.empty()) {
          throw Error(ASSAY_UNIMPLEMENTED, "output \"" + signature_.outputs[i].name +
                                               "\" has no batch: batches_per_step and "
                                               "replication_factor must be 1");
        }
        shape[0] *= steps_;
      }
      memory[i] = outputs.allocate(i, shape.data(), shape.size());
      step_bytes[i] = size_bytes;
    }
    if (size_bytes != step_bytes[i]) {
      throw Error(ASSAY_INTERNAL, "output \"" + signature_.outputs[i].name + "\": step " +
                                      std::to_string(step) + " gave " + std::to_string(size_bytes) +
                                      " bytes, the first " + std::to_string(step_bytes[i]));
    }
    if (size_bytes == 0) continue;
    std::memcpy(static_cast<char*>(memory[i]) + static_cast<std::size_t>(step) * size_bytes,
                results[i].GetTensorRawData(), size_bytes);
  }
}

void LoadedModel::predict(const Inputs& inputs, Outputs& outputs) {
  check_inputs(inputs);
  const std::uint64_t before = total_overflows();
  const std::uint64_t call = draws_each_call_ ? calls_.fetch_add(1) : 0;
  std::vector<void*> memory(output_names_.size());
  std::vector<std::size_t> step_bytes(output_names_.size());
  for (std::int64_t step = 0; step < steps_; ++step) {
    auto seed = static_cast<std::int64_t>(seed_ + call * static_cast<std::uint64_t>(steps_) +
                                          static_cast<std::uint64_t>(step));
    const std::vector<Ort::Value> values = step_inputs(inputs, step, seed);
    store(session_.Run(Ort::RunOptions{nullptr}, input_names_.data(), values.data(), values.size(),
                       output_names_.data(), output_names_.size()),
          step, memory, step_bytes, outputs);
  }
  if (artifact_.options.fp_exceptions && total_overflows() > before) {
    const OverflowCount count = overflows();
    throw Error(ASSAY_OUT_OF_RANGE, "fp_exceptions: a value overflowed fp16, first at operator " +
                                        count.first_op + ", tensor \"" + count.first_tensor + "\"");
  }
}

void LoadedModel::try_run(const Inputs& inputs) {
  check_inputs(inputs);
  auto seed = static_cast<std::int64_t>(seed_);
  for (std::int64_t step = 0; step < steps_; ++step) {
    const std::vector<Ort::Value> values = step_inputs(inputs, step, seed);
    session_.Run(Ort::RunOptions{nullptr}, input_names_.data(), values.data(), values.size(),
                 output_names_.data(), output_names_.size());
  }
}

std::uint64_t LoadedModel::total_overflows() const { return overflows().values; }

OverflowCount LoadedModel::overflows() const {
  OverflowCount count;
  for (std::size_t i = 0; i < state_.overflows.size(); ++i) {
    const std::uint64_t values = state_.overflows[i].load(std::memory_order_relaxed);
    if (values == 0) continue;
    if (count.first_op.empty()) {
      count.first_op = artifact_.sites[i].op;
      count.first_tensor = artifact_.sites[i].tensor;
    }
    count.values += values;
  }
  return count;
}

}  // namespace graphcore
