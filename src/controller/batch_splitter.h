#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::controller {

// What is known of where a loaded model has its batch.
struct BatchFacts {
  std::int64_t batch_size = 1;                         // as loaded
  std::vector<std::optional<std::size_t>> batch_axes;  // per input; none: not batched
  std::vector<TensorSpec> inputs;   // as the backend declares them: free dimensions are -1
  std::vector<TensorSpec> outputs;  // likewise
};

// Row `sample` of an output of `batch_size` samples, which has one for each of them.
inline std::span<const std::byte> row_of(const TensorView& output, std::int64_t batch_size,
                                         std::uint64_t sample) {
  const std::size_t bytes = output.bytes.size() / static_cast<std::size_t>(batch_size);
  return output.bytes.subspan(sample * bytes, bytes);
}

// Cuts the outputs of a whole batch into samples: output k of sample i is row i of its axis 0. With
// a batch of 1 a sample is the whole output, whatever its axes mean. With more, axis 0 has to be
// the batch: every batched input has its batch there, and the model declares axis 0 of the output
// free, or as a multiple of the batch in a model that fixes its batch. That a size can be divided
// by the batch says nothing.
class BatchSplitter {
 public:
  // kFailedPrecondition naming the output, or the input, that makes it impossible.
  static Result<BatchSplitter> create(const BatchFacts& facts);

  // Per-sample specs from the outputs of a batch. kFailedPrecondition when one has another number
  // of rows than fits the batch.
  Result<std::vector<TensorSpec>> sample_specs(const std::vector<TensorView>& outputs) const;

  std::span<const std::byte> row(const TensorView& output, std::uint64_t sample) const {
    return row_of(output, batch_size_, sample);
  }

 private:
  explicit BatchSplitter(std::int64_t batch_size) : batch_size_(batch_size) {}

  std::int64_t batch_size_;
};

}  // namespace assay::controller
