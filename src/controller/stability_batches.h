#pragma once

// Batches whose outputs are known, for the stability matrix. Internal to controller.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "worker/layout.h"

namespace assay::controller {

// Which sample lies in which place of which batch: [slot][row], indices into the data set.
using Arrangement = std::vector<std::vector<std::size_t>>;

// Inputs and, once recorded or assembled, the outputs that they must give; a copy of what an arena
// holds, so that any worker can be handed the same.
struct KnownBatches {
  std::int64_t batch_size = 1;        // that is loaded
  std::int64_t asked_batch_size = 1;  // by which it is loaded again
  Arrangement samples;
  std::vector<TensorSpec> inputs;   // concrete
  std::vector<TensorSpec> outputs;  // as the loaded model declares them
  std::size_t output_capacity_bytes = 0;
  std::vector<std::byte> input_bytes;     // all input slots
  std::vector<std::byte> expected_bytes;  // as many output slots

  worker::ArenaLayout layout(std::uint32_t callers) const;
  // The expected outputs of a slot; views into expected_bytes. Errors of read_output_slot.
  Result<std::vector<TensorView>> expected(std::size_t slot) const;
};

// Decodes the inputs. `inputs`: specs at the batch size that is loaded.
Result<KnownBatches> decode_batches(const dataset::Dataset& dataset,
                                    const std::vector<std::optional<std::size_t>>& batch_axes,
                                    std::vector<TensorSpec> inputs, const LoadedModel& loaded,
                                    Arrangement samples);

// Gives the batches to a worker that has the model loaded.
Status share_batches(Session& session, const KnownBatches& batches, std::uint32_t callers);

// Runs every batch once and keeps the outputs as those expected.
Status record_expected(Session& session, KnownBatches& batches, std::uint64_t seed);

// Expected outputs of `batches`, put together row by row from those of `known`, which has every
// sample that `batches` has. kFailedPrecondition when an output is not one row per sample.
Status assemble_expected(const KnownBatches& known, KnownBatches& batches);

}  // namespace assay::controller
