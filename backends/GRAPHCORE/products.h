#pragma once

// Which operators of ONNX are products and convolutions of the chip's.

#include <optional>

#include "onnx_model.h"
#include "tensor_fact.h"

namespace graphcore {

class Products {
 public:
  // `facts` outlives this.
  explicit Products(const TensorFacts& facts) : facts_(&facts) {}

  // `node` as kMatMulOperator (inputs A, B, bias) or kConvOperator (X, W, bias), with every
  // attribute said; nullopt for what is neither: another operator, vectors, images of other than
  // two dimensions, a Gemm that scales. Those run as ordinary operators.
  std::optional<onnx::NodeProto> as_product(const onnx::NodeProto& node) const;

 private:
  std::optional<onnx::NodeProto> matmul(const onnx::NodeProto& node) const;
  std::optional<onnx::NodeProto> gemm(const onnx::NodeProto& node) const;
  std::optional<onnx::NodeProto> conv(const onnx::NodeProto& node) const;
  const TensorFact* fact(const onnx::NodeProto& node, int input) const;

  const TensorFacts* facts_;
};

}  // namespace graphcore
