#pragma once

// What tests of calls need: tensors with values, a sink that keeps outputs.

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/testing.h"
#include "host/runtime_backend.h"
#include "tensor/tensor.h"

namespace assay::host::testing {

using assay::testing::ScratchFolder;

template <typename T>
Tensor tensor_of(const std::string& name, DType dtype, const Shape& shape,
                 const std::vector<T>& values) {
  Tensor tensor = Tensor::make({name, dtype, shape}).value();
  if (!values.empty()) std::memcpy(tensor.bytes().data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

// Keeps each output's shape and bytes. Thread rule: one call at a time.
class KeepingSink : public OutputSink {
 public:
  struct Kept {
    Shape shape;
    std::vector<std::byte> bytes;

    template <typename T>
    std::vector<T> values() const {
      std::vector<T> out(bytes.size() / sizeof(T));
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
      return out;
    }
  };

  Result<std::span<std::byte>> allocate(std::size_t index, std::span<const std::int64_t> shape,
                                        std::size_t size_bytes) override {
    Kept& kept = outputs[index];
    kept = {Shape(shape.begin(), shape.end()), std::vector<std::byte>(size_bytes)};
    return std::span<std::byte>(kept.bytes);
  }

  std::map<std::size_t, Kept> outputs;
};

}  // namespace assay::host::testing
