#pragma once

// What was really computed in which precision, from ONNX Runtime's own profile of a run: a model
// file's dtypes do not say (its float16 operators mostly run in float32 on a CPU).

#include <cstdint>
#include <string>
#include <vector>

namespace cpu {

// Operators of one kind that ran in one precision.
struct ExecutedOperator {
  std::string op;          // "Conv"
  std::string precision;   // of its inputs: "FLOAT32", "INT8" for signed and unsigned, ...
  std::string provider;    // "CPUExecutionProvider"
  bool arithmetic = true;  // false: only converts or moves values, so its dtype means nothing
  std::int64_t count = 0;  // times it ran
};

struct ExecutedPrecision {
  std::vector<ExecutedOperator> operators;  // by name, then precision
  std::int64_t inserted_casts = 0;  // by ONNX Runtime, around kernels without a float16 form

  // Share of the arithmetic operators that ran in `precision`, 0..1.
  double share(const std::string& precision) const;
  // Precisions of arithmetic operators, most frequent first.
  std::vector<std::string> precisions() const;
  // For compile_precision: "FP32", or "INT8+FP32" with the most frequent first; "" without any
  // arithmetic.
  std::string summary() const;
};

// Reads the profile of one run. Throws ASSAY_INTERNAL when it cannot be understood.
ExecutedPrecision executed_precision(const std::string& profile_json);

}  // namespace cpu
