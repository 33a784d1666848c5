#include "workload/batch_sizes.h"

#include <fmt/format.h>

#include <algorithm>

#include "workload/signature.h"

namespace assay::workload {
namespace {

constexpr std::int64_t kUsualBatchSize = 8;  // beside 1, when nobody names any

bool has_batch_axis(const ModelInfo& info) {
  return std::any_of(info.batch_axes.begin(), info.batch_axes.end(),
                     [](const auto& axis) { return axis.has_value(); });
}

// "" when the tensors of such a batch can be addressed.
std::string why_not_addressed(const ModelInfo& info, std::int64_t size) {
  for (std::size_t i = 0; i < info.inputs.size(); ++i) {
    TensorSpec spec = info.inputs[i];
    std::replace(spec.shape.begin(), spec.shape.end(), std::int64_t{-1}, std::int64_t{1});
    const auto& axis = info.batch_axes[i];
    if (axis && __builtin_mul_overflow(spec.shape[*axis], size, &spec.shape[*axis])) {
      return "accepted: batches whose tensors can be addressed";
    }
    if (const auto bytes = byte_size(spec); !bytes.ok()) return bytes.status().message();
  }
  return "";
}

}  // namespace

std::string why_not_batch(const ModelInfo& info, std::optional<std::int64_t> fixed,
                          std::int64_t size) {
  if (size < 1) return "accepted: a whole number of at least 1";
  const auto& most = info.max_batch_size;
  if (most && size > *most) return fmt::format("accepted: at most {}, max_batch_size", *most);
  if (fixed && size != *fixed) {
    return fmt::format("but the model fixes its batch; accepted: {}", *fixed);
  }
  if (size > 1 && !has_batch_axis(info)) {
    return "but no input of the model is batched; accepted: 1";
  }
  return why_not_addressed(info, size);
}

std::vector<std::int64_t> usual_batch_sizes(const ModelInfo& info,
                                            std::optional<std::int64_t> fixed) {
  std::vector<std::int64_t> sizes = {fixed.value_or(1)};
  if (fixed || !has_batch_axis(info)) return sizes;
  const std::int64_t more =
      std::min(info.max_batch_size.value_or(kUsualBatchSize), kUsualBatchSize);
  if (more > 1) sizes.push_back(more);
  return sizes;
}

Result<std::vector<std::int64_t>> accepted_batch_sizes(const ModelInfo& info,
                                                       const std::optional<ModelFile>& file,
                                                       const std::vector<std::int64_t>& asked) {
  if (asked.empty()) return out_of_range("found none, accepted: at least one");
  const std::optional<std::int64_t> fixed =
      file ? fixed_batch(info, file->signature) : std::nullopt;
  std::vector<std::int64_t> sizes;
  std::string refused;
  for (const std::int64_t size : asked) {
    const std::string why_not = why_not_batch(info, fixed, size);
    if (!why_not.empty()) {
      refused += fmt::format("{}found {}, {}", refused.empty() ? "" : "; ", size, why_not);
    } else if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      sizes.push_back(size);
    }
  }
  if (!refused.empty()) return out_of_range(refused);
  return sizes;
}

}  // namespace assay::workload
