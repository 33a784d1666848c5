#pragma once

// What the chip's kernels in ONNX Runtime have in common.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "device_state.h"
#include "onnxruntime/ort.h"

namespace graphcore {

// Where a kernel's results become fp16, and the arithmetic it computes by.
struct KernelPlace {
  DeviceState* state = nullptr;
  std::size_t site = 0;
  arith::Arithmetic arithmetic;
};

// Data of an input that may be left out, or nullptr.
template <typename T>
const T* optional_data(const Ort::KernelContext& context, std::size_t index) {
  if (index >= context.GetInputCount()) return nullptr;
  const Ort::ConstValue value = context.GetInput(index);
  if (static_cast<const OrtValue*>(value) == nullptr) return nullptr;
  return value.GetTensorData<T>();
}

// The arithmetic of one call: with the call's seed, when it draws.
inline arith::Arithmetic arithmetic_for_call(const KernelPlace& place,
                                             const Ort::KernelContext& context,
                                             std::size_t seed_input) {
  arith::Arithmetic arithmetic = place.arithmetic;
  const auto* const seed = optional_data<std::int64_t>(context, seed_input);
  if (seed != nullptr) {
    arithmetic.rounding = arith::Rounding::kStochastic;
    arithmetic.seed = static_cast<std::uint64_t>(*seed);
  }
  return arithmetic;
}

// ONNX Runtime's own threads, so that no more run than it was given.
inline arith::Parallel parallel_of(const Ort::KernelContext& context) {
  return [&context](std::size_t tasks, const std::function<void(std::size_t)>& task) {
    context.ParallelFor(
        [](void* data, std::size_t index) {
          (*static_cast<const std::function<void(std::size_t)>*>(data))(index);
        },
        tasks, 0, const_cast<std::function<void(std::size_t)>*>(&task));
  };
}

inline std::size_t site_of(const OrtKernelInfo* info) {
  return static_cast<std::size_t>(Ort::ConstKernelInfo(info).GetAttribute<std::int64_t>("site"));
}

// Inputs are floats but for the last, the call's seed; those from `required` on may be left out.
template <typename Op, typename Kernel, std::size_t inputs, std::size_t required>
struct IpuOperator : Ort::CustomOpBase<Op, Kernel> {
  explicit IpuOperator(DeviceState& shared) : state(&shared) {}

  void* CreateKernel(const OrtApi& /*api*/, const OrtKernelInfo* info) const {
    return new Kernel(info, *state);
  }
  std::size_t GetInputTypeCount() const { return inputs; }
  ONNXTensorElementDataType GetInputType(std::size_t index) const {
    return index + 1 < inputs ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT
                              : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  }
  OrtCustomOpInputOutputCharacteristic GetInputCharacteristic(std::size_t index) const {
    return index < required ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(std::size_t /*index*/) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }

  DeviceState* state;
};

}  // namespace graphcore
