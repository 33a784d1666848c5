#include "ipu_operators.h"

#include <cstdint>
#include <vector>

#include "lower.h"
#include "rounding.h"

namespace graphcore {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 16;  // elements of one task

// Rounds its input to fp16 values. Inputs: X, and the seed of the call when rounding is stochastic.
class RoundKernel {
 public:
  RoundKernel(const OrtKernelInfo* info, DeviceState& state)
      : state_(state),
        site_(static_cast<std::size_t>(
            Ort::ConstKernelInfo(info).GetAttribute<std::int64_t>("site"))) {}

  void Compute(OrtKernelContext* raw) {
    const Ort::KernelContext context(raw);
    const Ort::ConstValue input = context.GetInput(0);
    const auto info = input.GetTensorTypeAndShapeInfo();
    Task task;
    task.kernel = this;
    task.in = input.GetTensorData<float>();
    task.n = info.GetElementCount();
    task.out = context.GetOutput(0, info.GetShape()).GetTensorMutableData<float>();
    task.rule.nan_on_overflow = state_.options.nanoo;
    task.rule.site = site_;
    if (context.GetInputCount() > 1) {
      task.rule.stochastic = true;
      task.rule.seed =
          static_cast<std::uint64_t>(*context.GetInput(1).GetTensorData<std::int64_t>());
    }
    const std::size_t pieces = (task.n + kGrain - 1) / kGrain;
    if (pieces > 0) context.ParallelFor(&run_piece, pieces, 0, &task);
  }

 private:
  struct Task {
    RoundKernel* kernel = nullptr;
    const float* in = nullptr;
    float* out = nullptr;
    std::size_t n = 0;
    RoundingRule rule;
  };

  static void run_piece(void* data, std::size_t piece) {
    const Task& task = *static_cast<Task*>(data);
    const std::size_t first = piece * kGrain;
    const std::size_t count = std::min(kGrain, task.n - first);
    task.kernel->state_.count(task.kernel->site_,
                              round_to_half_values(task.in + first, task.out + first, count,
                                                   task.rule, first));
  }

  DeviceState& state_;
  std::size_t site_;
};

struct RoundOperator : Ort::CustomOpBase<RoundOperator, RoundKernel> {
  explicit RoundOperator(DeviceState& shared) : state(shared) {}

  void* CreateKernel(const OrtApi& /*api*/, const OrtKernelInfo* info) const {
    return new RoundKernel(info, state);
  }
  const char* GetName() const { return kRoundOperator; }
  std::size_t GetInputTypeCount() const { return 2; }
  ONNXTensorElementDataType GetInputType(std::size_t index) const {
    return index == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(std::size_t index) const {
    return index == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(std::size_t /*index*/) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }

  DeviceState& state;
};

}  // namespace

struct IpuOperators::Parts {
  explicit Parts(DeviceState& state) : round(state), domain(kDomain) { domain.Add(&round); }

  RoundOperator round;
  Ort::CustomOpDomain domain;
};

IpuOperators::IpuOperators(DeviceState& state) : parts_(std::make_unique<Parts>(state)) {}
IpuOperators::~IpuOperators() = default;

void IpuOperators::add_to(Ort::SessionOptions& options) { options.Add(parts_->domain); }

}  // namespace graphcore
