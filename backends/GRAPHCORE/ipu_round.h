#pragma once

#include "ipu_kernel.h"
#include "lower.h"

namespace graphcore {

// Rounds its input to fp16 values. Inputs: X, seed.
class RoundKernel {
 public:
  RoundKernel(const OrtKernelInfo* info, DeviceState& state);
  void Compute(OrtKernelContext* context) const;

 private:
  KernelPlace place_;
};

struct RoundOperator : IpuOperator<RoundOperator, RoundKernel, 2, 1> {
  using IpuOperator::IpuOperator;
  const char* GetName() const { return kRoundOperator; }
};

}  // namespace graphcore
