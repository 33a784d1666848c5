#include "dataset/dataset.h"

#include <fmt/format.h>

namespace assay::dataset {
namespace {

Status check_index(std::size_t index, const DatasetFacts& facts) {
  if (index < facts.size) return ok_status();
  return out_of_range(
      fmt::format("data set {} has {} samples, no sample {}", facts.name, facts.size, index));
}

Status check_buffers(std::span<const TensorSpec> specs,
                     std::span<const std::span<std::byte>> buffers) {
  if (buffers.size() != specs.size()) {
    return invalid_argument(
        fmt::format("got {} buffers for {} inputs", buffers.size(), specs.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ASSIGN_OR_RETURN(const std::size_t wanted, byte_size(specs[i]));
    if (buffers[i].size() == wanted) continue;
    return invalid_argument(fmt::format("buffer for input {} has {} bytes, {} are wanted",
                                        to_string(specs[i]), buffers[i].size(), wanted));
  }
  return ok_status();
}

}  // namespace

Status Dataset::read(std::size_t index, std::span<const std::span<std::byte>> into) const {
  RETURN_IF_ERROR(check_index(index, facts_));
  RETURN_IF_ERROR(check_buffers(facts_.inputs, into));
  Status status = read_sample(index, into);
  if (status.ok()) return status;
  return status.with_context(fmt::format("sample \"{}\"", sample_id(index)));
}

Result<Label> Dataset::label(std::size_t index) const {
  RETURN_IF_ERROR(check_index(index, facts_));
  Result<Label> result = read_label(index);
  if (result.ok()) return result;
  return result.status().with_context(fmt::format("sample \"{}\"", sample_id(index)));
}

}  // namespace assay::dataset
