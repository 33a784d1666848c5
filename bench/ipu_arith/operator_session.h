#pragma once

// One operator in fp32 by ONNX Runtime, on one thread.

#include <memory>
#include <vector>

#include "arithmetic.h"

namespace assay::bench {

class OperatorSession {
 public:
  // The second operand is a constant, as weights are. Throws Ort::Exception or std::runtime_error.
  OperatorSession(const graphcore::arith::MatMulShape& shape, const std::vector<float>& b);
  OperatorSession(const graphcore::arith::Conv2dShape& shape, const std::vector<float>& weights);
  OperatorSession(OperatorSession&& other) noexcept;
  ~OperatorSession();

  void run(const std::vector<float>& input, std::vector<float>& output);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::bench
