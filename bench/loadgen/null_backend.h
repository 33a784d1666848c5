#pragma once

#include <array>
#include <cstddef>

#include "base/result.h"
#include "host/runtime_backend.h"
#include "loadgen/target.h"
#include "tensor/tensor.h"

namespace assay::bench {

// The null backend through the boundary, with every check of the host.
class NullBackendTarget : public loadgen::Target, private host::OutputSink {
 public:
  static Result<std::unique_ptr<NullBackendTarget>> load();

  Status issue(std::uint32_t, std::uint64_t) override { return runtime_.infer(inputs_, *this); }

 private:
  NullBackendTarget(host::RuntimeBackend runtime, Tensor input);
  Result<std::span<std::byte>> allocate(std::size_t, std::span<const std::int64_t>,
                                        std::size_t size_bytes) override;

  host::RuntimeBackend runtime_;
  Tensor input_;
  std::array<TensorView, 1> inputs_;
  alignas(64) std::array<std::byte, 64> output_{};
};

}  // namespace assay::bench
