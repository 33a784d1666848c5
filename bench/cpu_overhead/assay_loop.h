#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace assay::bench {

// The CPU backend as a worker calls it: compiled, loaded and run through src/host, checks and all,
// outputs into memory set aside beforehand. One intra-op thread.
class AssayLoop {
 public:
  // `inputs` are batches of the model's one FLOAT32 input; they outlive the loop.
  static Result<std::unique_ptr<AssayLoop>> make(const std::filesystem::path& model,
                                                 const std::vector<std::int64_t>& input_shape,
                                                 const std::vector<std::span<float>>& inputs);
  ~AssayLoop();
  AssayLoop(const AssayLoop&) = delete;
  AssayLoop& operator=(const AssayLoop&) = delete;

  Status run(std::size_t index);
  std::span<const float> output() const;  // of the last call

 private:
  struct State;
  explicit AssayLoop(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::bench
