#pragma once

// What is really computed in which precision, from OpenVINO's own graph of the compiled model: the
// precision that was asked for is a hint, and a model file's dtypes do not say either.

#include <cstdint>
#include <openvino/core/model.hpp>
#include <string>
#include <vector>

namespace openvino {

// Operators of one kind that run in one precision in one implementation.
struct ExecutedOperator {
  std::string op;              // "Convolution"
  std::string precision;       // "FLOAT32", "INT8" for signed and unsigned, ...
  std::string implementation;  // "brgconv_avx512_f32"
  bool arithmetic = true;      // false: only converts or moves values
  std::int64_t count = 0;      // in the graph
};

struct ExecutedPrecision {
  std::vector<ExecutedOperator> operators;  // by name, then precision

  // Share of the arithmetic operators that run in `precision`, 0..1.
  double share(const std::string& precision) const;
  // Precisions of arithmetic operators, most frequent first.
  std::vector<std::string> precisions() const;
  // For compile_precision: "FP32", or "INT8+FP32" with the most frequent first; "" without any
  // arithmetic.
  std::string summary() const;
};

// `graph` is ov::CompiledModel::get_runtime_model(), `source` the model that was compiled. What
// only depends on constants is computed once, when the model is loaded, and is left out.
ExecutedPrecision executed_precision(const ov::Model& graph, const ov::Model& source);

}  // namespace openvino
