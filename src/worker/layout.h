#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::worker {

// How batches lie in the memory that controller and worker share. Both sides compute the same
// layout from the same description; offsets never travel.
//
//   input slot 0 | input slot 1 | ... | output slot 0 | output slot 1 | ...
//
// An input slot holds one batch: every input, each aligned to 64 bytes. An output slot holds the
// OutputRecord of every output and then their bytes, each with 64 bytes or more behind it that
// nobody is given, where a backend that writes too much is found out. Thread rule: a value, as
// std::vector.
struct ArenaLayout {
  std::vector<TensorSpec> inputs;   // concrete, at the loaded batch size
  std::vector<TensorSpec> outputs;  // as the model declares them: free dimensions are -1
  std::size_t input_slots = 0;
  std::size_t output_slots = 0;
  std::size_t output_capacity_bytes = 0;  // of one output slot, without its records
};

// Everything in an arena begins at a multiple of this.
inline constexpr std::size_t kArenaAlignment = 64;
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

// Written by the worker into the output slot, read with suspicion by the controller.
inline constexpr std::size_t kMaxRank = 16;
struct OutputRecord {
  std::uint64_t present = 0;  // 1 when the backend gave this output
  std::uint64_t offset = 0;   // from the start of the slot
  std::uint64_t size_bytes = 0;
  std::uint64_t rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
};

// Bytes of an input slot; kOutOfRange when they do not fit.
Result<std::size_t> input_slot_bytes(const std::vector<TensorSpec>& inputs);
std::size_t output_slot_bytes(const ArenaLayout& layout);
Result<std::size_t> arena_bytes(const ArenaLayout& layout);

// Where input `k` begins inside an input slot.
std::size_t input_offset(const std::vector<TensorSpec>& inputs, std::size_t k);

// The parts of a mapped arena. `arena` must have arena_bytes(layout) bytes.
std::span<std::byte> input_bytes(const ArenaLayout& layout, std::span<std::byte> arena,
                                 std::size_t slot, std::size_t k);
std::span<std::byte> output_slot(const ArenaLayout& layout, std::span<std::byte> arena,
                                 std::size_t slot);

// The tensors that a worker left in an output slot, with every number checked against the slot:
// kDataLoss when one does not fit, kFailedPrecondition when an output is missing.
Result<std::vector<TensorView>> read_output_slot(const ArenaLayout& layout,
                                                 std::span<const std::byte> slot);

// Bytes that the outputs need when every free dimension is at most `batch`-like: the sum for free
// dimensions set to `free_dimension`. A guess to start from; a backend that needs more says so.
std::size_t guess_output_bytes(const std::vector<TensorSpec>& outputs, std::int64_t free_dimension);

Json to_json(const TensorSpec& spec);
Result<TensorSpec> spec_from_json(const Json& json);
Json to_json(const std::vector<TensorSpec>& specs);
Result<std::vector<TensorSpec>> specs_from_json(const Json& json);
Json to_json(const ArenaLayout& layout);
Result<ArenaLayout> layout_from_json(const Json& json);

}  // namespace assay::worker
