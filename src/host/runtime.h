#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::host {

enum class ThreadRule { kOneCall, kAny };

// Gives memory for the outputs of one call.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // At least `size_bytes` writable bytes, aligned to 64, for output `output_index` of the
  // signature; they stay until the call returns (infer) or completes (submit). Called at most once
  // per output and call, with a shape that agrees with the signature; from any thread in
  // asynchronous calls.
  virtual Result<std::span<std::byte>> allocate(std::size_t output_index,
                                                std::span<const std::int64_t> shape,
                                                std::size_t size_bytes) = 0;
};

// A loaded model as its callers see it: a backend's runtime, or several of them one behind the
// other.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Feed so many samples, whatever was asked for.
  virtual std::int64_t loaded_batch_size() const = 0;
  virtual const Signature& signature() const = 0;
  virtual ThreadRule thread_rule() const = 0;

  // One call: inputs in the order of the signature, outputs through `outputs`. From one thread or
  // any number of them, as thread_rule() says.
  virtual Status infer(std::span<const TensorView> inputs, OutputSink& outputs) = 0;
};

}  // namespace assay::host
