#include "controller/batch_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace assay::controller {
namespace {

Status cannot_be_cut(const TensorSpec& output, const std::string& why, std::int64_t batch_size) {
  return failed_precondition(
      fmt::format("output {} cannot be cut into the {} samples of a batch: {}; run with "
                  "--batch_sizes 1",
                  to_string(output), batch_size, why));
}

bool has_free_dimension(const TensorSpec& spec, std::size_t from) {
  return spec.shape.size() > from &&
         std::any_of(spec.shape.begin() + static_cast<std::ptrdiff_t>(from), spec.shape.end(),
                     [](std::int64_t dimension) { return dimension < 0; });
}

// The axis of input `i` as the facts have it; inputs beyond the list are batched along axis 0.
std::optional<std::size_t> axis_of(const BatchFacts& facts, std::size_t i) {
  return i < facts.batch_axes.size() ? facts.batch_axes[i] : std::optional<std::size_t>(0);
}

// True when the loaded model leaves no batched input's batch open.
bool fixes_its_batch(const BatchFacts& facts) {
  for (std::size_t i = 0; i < facts.inputs.size(); ++i) {
    const auto axis = axis_of(facts, i);
    const Shape& shape = facts.inputs[i].shape;
    if (axis && *axis < shape.size() && shape[*axis] < 0) return false;
  }
  return !facts.inputs.empty();
}

Status check_output(const BatchFacts& facts, const TensorSpec& output, bool fixed) {
  if (output.shape.empty()) return ok_status();  // no shape is declared: the real one decides
  if (output.shape[0] < 0) return ok_status();
  if (!fixed) {
    return cannot_be_cut(
        output,
        fmt::format("the model takes any batch, and its axis 0 is always {}", output.shape[0]),
        facts.batch_size);
  }
  if (output.shape[0] % facts.batch_size != 0) {
    return cannot_be_cut(output, "its axis 0 is no multiple of the batch", facts.batch_size);
  }
  const bool inputs_free =
      std::any_of(facts.inputs.begin(), facts.inputs.end(),
                  [](const TensorSpec& input) { return has_free_dimension(input, 0); });
  if (has_free_dimension(output, 1) && !inputs_free) {
    return cannot_be_cut(output, "its shape depends on the values, so its axis 0 may be anything",
                         facts.batch_size);
  }
  return ok_status();
}

}  // namespace

Result<BatchSplitter> BatchSplitter::create(const BatchFacts& facts) {
  if (facts.batch_size == 1) return BatchSplitter(1);
  for (std::size_t i = 0; i < facts.batch_axes.size(); ++i) {
    if (facts.batch_axes[i].value_or(0) == 0) continue;
    return failed_precondition(
        fmt::format("input {} has its batch on axis {}, so the axis of the outputs' batch is not "
                    "known and the {} samples of a batch cannot be told apart; run with "
                    "--batch_sizes 1",
                    i, *facts.batch_axes[i], facts.batch_size));
  }
  const bool fixed = fixes_its_batch(facts);
  for (const TensorSpec& output : facts.outputs) {
    RETURN_IF_ERROR(check_output(facts, output, fixed));
  }
  return BatchSplitter(facts.batch_size);
}

Result<std::vector<TensorSpec>> BatchSplitter::sample_specs(
    const std::vector<TensorView>& outputs) const {
  std::vector<TensorSpec> specs;
  for (const TensorView& output : outputs) {
    TensorSpec spec = output.spec;
    if (batch_size_ > 1 && (spec.shape.empty() || spec.shape[0] % batch_size_ != 0)) {
      return cannot_be_cut(spec, "its axis 0 is no multiple of the batch", batch_size_);
    }
    if (!spec.shape.empty()) {
      spec.shape[0] /= batch_size_;
      if (spec.shape[0] == 1) spec.shape.erase(spec.shape.begin());
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace assay::controller
