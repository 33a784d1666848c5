#pragma once

#include <cstdint>
#include <vector>

#include "conv2d.h"
#include "ipu_kernel.h"
#include "lower.h"

namespace graphcore {

// A convolution's attributes, as products.h says them.
struct ConvAttributes {
  std::vector<std::int64_t> strides = {1, 1};
  std::vector<std::int64_t> dilations = {1, 1};
  std::vector<std::int64_t> pads = {0, 0, 0, 0};  // top, left, bottom, right
  std::int64_t auto_pad = 0;
  std::int64_t group = 1;
};

// For an input and weights of four dimensions each. Throws std::invalid_argument, naming both, when
// they do not go together.
arith::Conv2dShape conv_shape(const ConvAttributes& attributes,
                              const std::vector<std::int64_t>& input,
                              const std::vector<std::int64_t>& weights);

// Inputs: X, W, bias, seed.
class ConvKernel {
 public:
  ConvKernel(const OrtKernelInfo* info, DeviceState& state);
  void Compute(OrtKernelContext* context) const;

 private:
  KernelPlace place_;
  ConvAttributes attributes_;
};

struct ConvOperator : IpuOperator<ConvOperator, ConvKernel, 4, 2> {
  using IpuOperator::IpuOperator;
  const char* GetName() const { return kConvOperator; }
};

}  // namespace graphcore
