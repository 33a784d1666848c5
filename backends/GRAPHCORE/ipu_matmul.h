#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ipu_kernel.h"
#include "lower.h"
#include "matmul.h"

namespace graphcore {

// How two stacks of matrices go together. Leading dimensions broadcast as in ONNX.
struct MatMulPlan {
  arith::MatMulShape shape;  // of one product, or of all when `pairs` is empty
  std::vector<std::int64_t> out_shape;
  // Index of a's and of b's matrix for each product, where one product cannot cover them all.
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
};

// Throws std::invalid_argument, naming both shapes, when they do not go together.
MatMulPlan plan_matmul(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                       bool transpose_a, bool transpose_b);

// Inputs: A, B, bias, seed. A constant matrix B is packed when the model is loaded.
class MatMulKernel {
 public:
  MatMulKernel(const OrtKernelInfo* info, DeviceState& state);
  void Compute(OrtKernelContext* context) const;

 private:
  KernelPlace place_;
  bool transpose_a_;
  bool transpose_b_;
  std::optional<arith::PackedMatrix> packed_;
};

struct MatMulOperator : IpuOperator<MatMulOperator, MatMulKernel, 4, 2> {
  using IpuOperator::IpuOperator;
  const char* GetName() const { return kMatMulOperator; }
};

}  // namespace graphcore
