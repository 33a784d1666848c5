#include "dataset/placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::dataset {
namespace {

Result<Placement> place(const TensorSpec& spec, std::optional<std::size_t> axis) {
  ASSIGN_OR_RETURN(const std::size_t bytes, byte_size(spec));
  if (!axis) return Placement{1, bytes, false};
  if (*axis == 0 && spec.shape.empty()) return Placement{1, bytes, true};
  if (*axis >= spec.shape.size()) {
    return invalid_argument(
        fmt::format("batch axis {} is outside input {}", *axis, to_string(spec)));
  }
  std::size_t runs = 1;
  for (std::size_t i = 0; i < *axis; ++i) runs *= static_cast<std::size_t>(spec.shape[i]);
  return Placement{runs, runs == 0 ? 0 : bytes / runs, true};
}

void scatter(const Placement& placement, std::span<const std::byte> sample, std::size_t batch_size,
             std::size_t position, std::span<std::byte> batch) {
  if (!placement.batched) {
    if (position == 0) std::ranges::copy(sample, batch.begin());
    return;
  }
  for (std::size_t run = 0; run < placement.runs; ++run) {
    const auto piece = sample.subspan(run * placement.run_bytes, placement.run_bytes);
    const std::size_t at = (run * batch_size + position) * placement.run_bytes;
    std::ranges::copy(piece, batch.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace

Result<std::vector<Placement>> place_all(
    const Dataset& dataset, const std::vector<std::optional<std::size_t>>& batch_axes) {
  const auto specs = dataset.specs();
  if (!batch_axes.empty() && batch_axes.size() != specs.size()) {
    return invalid_argument(
        fmt::format("{} batch axes for {} inputs", batch_axes.size(), specs.size()));
  }
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::optional<std::size_t> axis =
        batch_axes.empty() ? std::optional<std::size_t>(0) : batch_axes[i];
    ASSIGN_OR_RETURN(const Placement placement, place(specs[i], axis));
    placements.push_back(placement);
  }
  return placements;
}

Status check_slots(const std::vector<BatchBuffers>& slots, const Dataset& dataset,
                   const std::vector<Placement>& placements, std::size_t batch_size) {
  if (slots.empty()) return invalid_argument("no slot to decode into");
  for (const BatchBuffers& slot : slots) {
    if (slot.size() != placements.size()) {
      return invalid_argument(
          fmt::format("a slot has {} buffers for {} inputs", slot.size(), placements.size()));
    }
    for (std::size_t i = 0; i < slot.size(); ++i) {
      const std::size_t wanted =
          placements[i].sample_bytes() * (placements[i].batched ? batch_size : 1);
      if (slot[i].size() == wanted) continue;
      return invalid_argument(
          fmt::format("slot for input {} at batch {} has {} bytes, {} are wanted",
                      to_string(dataset.specs()[i]), batch_size, slot[i].size(), wanted));
    }
  }
  return ok_status();
}

Status decode_into(const Dataset& dataset, std::size_t index,
                   const std::vector<Placement>& placements, std::size_t batch_size,
                   std::size_t position, const BatchBuffers& batch, Scratch& scratch) {
  std::vector<std::span<std::byte>> into(placements.size());
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const std::size_t bytes = placements[i].sample_bytes();
    if (placements[i].direct()) {
      into[i] = batch[i].subspan(position * bytes, bytes);
    } else {
      scratch[i].resize(bytes);
      into[i] = scratch[i];
    }
  }
  RETURN_IF_ERROR(dataset.read(index, into));
  for (std::size_t i = 0; i < placements.size(); ++i) {
    if (!placements[i].direct()) scatter(placements[i], into[i], batch_size, position, batch[i]);
  }
  return ok_status();
}

Status decode_samples(const Dataset& dataset, std::span<const std::size_t> samples,
                      const std::vector<std::optional<std::size_t>>& batch_axes,
                      const BatchBuffers& batch) {
  ASSIGN_OR_RETURN(const std::vector<Placement> placements, place_all(dataset, batch_axes));
  RETURN_IF_ERROR(check_slots({batch}, dataset, placements, samples.size()));
  Scratch scratch(placements.size());
  for (std::size_t position = 0; position < samples.size(); ++position) {
    const std::size_t index = samples[position];
    if (index >= dataset.size()) {
      return out_of_range(fmt::format("sample {} of {}", index, dataset.size()));
    }
    RETURN_IF_ERROR(
        decode_into(dataset, index, placements, samples.size(), position, batch, scratch));
  }
  return ok_status();
}

}  // namespace assay::dataset
