#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace graphcore {

// The type and the shape of a tensor in one run.
struct TensorFact {
  int type = 0;  // ONNX element type
  std::vector<std::int64_t> shape;
};
using TensorFacts = std::map<std::string, TensorFact>;  // by tensor name

}  // namespace graphcore
