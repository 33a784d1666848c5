#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.h"
#include "check/output_store.h"
#include "controller/phase.h"
#include "controller/session.h"
#include "dataset/dataset.h"
#include "dataset/prefetch.h"

namespace assay::controller {

// Every sample of a data set once through a backend, outputs to a store by sample.
struct PassRequest {
  const dataset::Dataset* dataset = nullptr;
  std::uint64_t samples = 0;                           // the first so many
  std::int64_t batch_size = 1;                         // asked for
  std::vector<std::optional<std::size_t>> batch_axes;  // per input; none: not batched
  CompiledModel model;
  std::filesystem::path store;  // where the outputs go
  check::StoreIdentity identity;
};

struct PassResult {
  std::int64_t loaded_batch_size = 1;
  std::uint64_t samples = 0;
  std::uint64_t padded_samples = 0;  // that filled the last batch up; never counted
  std::int64_t wall_ns = 0;          // first batch asked for to last output stored
  std::int64_t backend_ns = 0;       // inside the backend
  std::uint64_t output_bytes_per_batch = 0;
  std::string conversions;           // JSON text
  std::vector<std::string> notes;    // what the backend says of these calls
  std::vector<SegmentUse> segments;  // none: the model was run whole
};

// Decoding runs ahead of inference, and storing behind it: the backend has the next batch waiting
// while the controller stores the last one. Memory does not grow with `samples`.
Result<PassResult> run_inference_pass(Session& session, const PassRequest& request,
                                      RunObserver& observer);

// The data set's inputs at a batch of `n`: what lies in an input slot.
Result<std::vector<TensorSpec>> batched_specs(
    const dataset::Dataset& dataset, const std::vector<std::optional<std::size_t>>& batch_axes,
    std::int64_t n);

// The buffers of every input slot of an arena, as a BatchSource fills them.
std::vector<dataset::BatchBuffers> slot_buffers(const worker::ArenaLayout& layout,
                                                std::span<std::byte> arena);

}  // namespace assay::controller
