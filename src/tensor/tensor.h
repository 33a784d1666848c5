#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace assay {

// Name, dtype and shape of one input or output; free dimensions are -1.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// `"x": FLOAT32 [1,3,224,224]`, the form used in every message about a tensor.
std::string to_string(const TensorSpec& spec);

// What a model takes and gives, in the model's own order.
struct Signature {
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;

  friend bool operator==(const Signature&, const Signature&) = default;
};

// A contiguous row-major host tensor that somebody else owns. Trivially cheap to copy apart from
// the spec; `bytes` is exactly element_count * size_of(dtype) long. Valid as long as its owner
// says.
struct TensorView {
  TensorSpec spec;
  std::span<const std::byte> bytes;

  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Bytes that a concrete spec takes; kInvalidArgument or kOutOfRange as element_count.
Result<std::size_t> byte_size(const TensorSpec& spec);

// Owns a contiguous host tensor, aligned to 64 bytes, zeroed when made.
class Tensor {
 public:
  static Result<Tensor> make(TensorSpec spec);

  const TensorSpec& spec() const { return spec_; }
  std::span<std::byte> bytes() { return {data_.get(), size_bytes_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), size_bytes_}; }
  TensorView view() const { return {spec_, bytes()}; }

  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data_.get()), size_bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data_.get()), size_bytes_ / sizeof(T)};
  }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  Tensor() = default;

  TensorSpec spec_;
  std::size_t size_bytes_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace assay
