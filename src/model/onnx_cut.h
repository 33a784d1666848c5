#pragma once

// An ONNX model cut to a range of its operators, to find the first of them that goes wrong.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace assay {

// One operator of the main graph. Names are the model's own.
struct OperatorInfo {
  std::int64_t index = 0;            // place in the file, which is a topological order
  std::string name;                  // "" when the model gives none
  std::string op_type;               // "domain.Op" outside ai.onnx
  std::vector<std::string> inputs;   // omitted ones left out; what its sub-graphs capture last
  std::vector<std::string> outputs;  // omitted ones left out

  // Computes a weight: depends on no input of the model. Cuts hold such operators wherever
  // something in the range needs them, so that a weight never becomes an input.
  bool constant = false;
  bool used = false;  // an output of the model depends on it
};

struct CutModel {
  Signature signature;         // of the file written; free and unknown dimensions are -1
  std::int64_t operators = 0;  // how many it holds, constant ones from before the range included
};

// The operators of the main graph in topological order. kDataLoss when the file's order is none:
// the operator and the tensor are named. Otherwise errors as read_model.
Result<std::vector<OperatorInfo>> list_operators(const std::filesystem::path& model);

// Writes to `to` what operators `first`..`last` (both included) compute of what the model's outputs
// depend on. Inputs are the tensors that come from outside: inputs of the model, in its order, then
// tensors made before `first`, in the order of their making. Outputs are the tensors made in the
// range that later operators use or that are outputs of the model, in the order of their making. A
// cut on the outputs of the cut before it computes what the model computes.
//
// Opsets, IR version, functions and metadata stay; external data comes into the file. Types of new
// inputs and outputs are, in this order: those of `known`, by name (an earlier cut's outputs tell
// them, with shapes), the model's own, inferred ones without a shape.
//
//   kOutOfRange          first..last is not a range of operators
//   kInvalidArgument     nothing made there is used later; a type of `known` contradicts the model;
//                        a tensor at the cut is of no dtype of ours
//   kFailedPrecondition  the type of a tensor at the cut is unknown: pass it in `known`
//   kResourceExhausted   larger than 2 GiB
//   otherwise as list_operators
Result<CutModel> write_cut(const std::filesystem::path& model, std::int64_t first,
                           std::int64_t last, const std::filesystem::path& to,
                           const std::map<std::string, TensorSpec>& known = {});

}  // namespace assay
