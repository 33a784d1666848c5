#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "controller/session.h"
#include "dataset/dataset.h"

namespace assay::controller {

// The samples that a round of a row submits.
struct InputPool {
  const dataset::Dataset* dataset = nullptr;
  std::uint64_t usable_samples = 0;  // the first so many
  std::vector<std::optional<std::size_t>> batch_axes;
  std::int64_t batch_size = 1;  // as loaded
};

// How many batches of `inputs` (at the loaded batch size) a pool holds: all that the data set has,
// within bounds of memory and number.
std::size_t pool_slots(const InputPool& pool, const std::vector<TensorSpec>& inputs);

// Fills every input slot of the session's arena with samples of the data set, another part of it in
// every round. The first sample of each slot.
Result<std::vector<std::size_t>> fill_pool(const InputPool& pool, Session& session, int round);

}  // namespace assay::controller
