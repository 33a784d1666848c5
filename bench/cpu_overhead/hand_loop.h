#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay::bench {

// ONNX Runtime as an engineer would drive it by hand, nothing of Assay in between: one session, one
// intra-op thread, input and output tensors made once over buffers of our own. For models of one
// FLOAT32 input [N, ...] and one FLOAT32 output [N, ...].
class HandLoop {
 public:
  static Result<std::unique_ptr<HandLoop>> make(const std::filesystem::path& model,
                                                std::int64_t batch);
  ~HandLoop();
  HandLoop(const HandLoop&) = delete;
  HandLoop& operator=(const HandLoop&) = delete;

  // Of the model at this batch.
  const std::vector<std::int64_t>& input_shape() const;

  // Takes batches of input_shape() to run on; they outlive the loop.
  void set_inputs(const std::vector<std::span<float>>& inputs);

  // One call on the batch at `index`. Throws what ONNX Runtime throws.
  void run(std::size_t index);
  std::span<const float> output() const;  // of the last call

 private:
  struct State;
  explicit HandLoop(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::bench
