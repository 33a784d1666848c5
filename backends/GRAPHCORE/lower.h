#pragma once

// From the user's graph to the chip's: what becomes fp16, what stays fp32, what is refused.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "onnx_model.h"
#include "options.h"
#include "tensor_fact.h"

namespace graphcore {

inline constexpr const char* kDomain = "assay.ipu";  // of the operators of ipu_operators.h
inline constexpr const char* kRoundOperator = "RoundHalf";
inline constexpr const char* kMatMulOperator = "IpuMatMul";
inline constexpr const char* kConvOperator = "IpuConv2d";
inline constexpr const char* kSeedInput = "assay.ipu.seed";

// How a tensor crosses between the host and the device.
struct Anchor {
  std::string name;
  std::string handle;  // of its stream: "h2d_0", "d2h_0"
  bool is_input = true;
  int host_type = 0;    // ONNX element type that the caller has
  int device_type = 0;  // what the chip holds
  std::vector<std::int64_t> shape;
  bool batched = true;     // its first dimension grows with the batch
  std::string adaptation;  // "rounded to FLOAT16 once, on entry", or "" for none
};

// A rounding site: where values become fp16, so where they can overflow.
struct RoundingSite {
  std::string op;      // "Conv", "Input"
  std::string tensor;  // that is rounded
};

struct Lowered {
  onnx::ModelProto model;
  std::vector<Anchor> anchors;       // inputs in order, then outputs
  std::vector<RoundingSite> sites;   // by the number that the graph's operators name as `site`
  std::vector<std::string> notes;    // what was done to the graph, a line each
  std::map<std::string, int> types;  // device type of every tensor
  std::uint64_t saturated_weights = 0;
};

// Throws ASSAY_UNIMPLEMENTED, naming the operator, for a graph with 8-bit arithmetic, with
// BFLOAT16, or with operators outside ONNX.
void check_lowerable(const onnx::ModelProto& model);

// `model` is folded; `facts` are of its tensors in some run. Throws ASSAY_OUT_OF_RANGE for an
// int64 constant that int32 cannot hold, naming the tensor and the value.
Lowered lower(const onnx::ModelProto& model, const TensorFacts& facts, const Options& options);

}  // namespace graphcore
