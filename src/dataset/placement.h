#pragma once

// Where a sample lies in a batch. Internal to dataset.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "dataset/dataset.h"
#include "dataset/prefetch.h"

namespace assay::dataset {

// How one input of a sample lies in the batch: `runs` pieces of `run_bytes`, which are
// batch_size * run_bytes apart in the batch and together in the sample.
struct Placement {
  std::size_t runs = 1;
  std::size_t run_bytes = 0;
  bool batched = true;

  std::size_t sample_bytes() const { return runs * run_bytes; }
  // Whether a sample can be decoded straight into its place.
  bool direct() const { return batched && runs == 1; }
};

Result<std::vector<Placement>> place_all(const Dataset& dataset,
                                         const std::vector<std::optional<std::size_t>>& batch_axes);

Status check_slots(const std::vector<BatchBuffers>& slots, const Dataset& dataset,
                   const std::vector<Placement>& placements, std::size_t batch_size);

// One buffer per input, for inputs that cannot be decoded in place.
using Scratch = std::vector<std::vector<std::byte>>;

// Decodes sample `index` into place `position` of a batch.
Status decode_into(const Dataset& dataset, std::size_t index,
                   const std::vector<Placement>& placements, std::size_t batch_size,
                   std::size_t position, const BatchBuffers& batch, Scratch& scratch);

}  // namespace assay::dataset
