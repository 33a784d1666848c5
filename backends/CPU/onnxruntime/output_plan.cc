#include "onnxruntime/output_plan.h"

namespace cpu {
namespace {

std::optional<OutputPlan::Dim> find_symbol(const std::string& symbol,
                                           const std::vector<DeclaredShape>& inputs) {
  if (symbol.empty()) return std::nullopt;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    for (std::size_t axis = 0; axis < inputs[input].dims.size(); ++axis) {
      if (inputs[input].dims[axis] < 0 && inputs[input].symbols[axis] == symbol) {
        return OutputPlan::Dim{-1, input, axis};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<OutputPlan> OutputPlan::make(const DeclaredShape& output,
                                           const std::vector<DeclaredShape>& inputs) {
  OutputPlan plan;
  for (std::size_t axis = 0; axis < output.dims.size(); ++axis) {
    if (output.dims[axis] >= 0) {
      plan.dims_.push_back({output.dims[axis], 0, 0});
      continue;
    }
    const auto source = find_symbol(output.symbols[axis], inputs);
    if (!source) return std::nullopt;
    plan.dims_.push_back(*source);
  }
  return plan;
}

}  // namespace cpu
