#pragma once

// Tensors that the wrapper holds itself: answers kept from call to call, inputs that it changed.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "assay/backend.hpp"

namespace wrapper {

// A contiguous host tensor with memory of its own, aligned to 64 bytes.
class Array {
 public:
  // Of the described name, dtype and shape, filled with zeros; data is ignored.
  explicit Array(const assay_tensor& description);
  static Array copy_of(const assay_tensor& tensor);

  const std::string& name() const { return name_; }
  std::uint32_t dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::size_t size_bytes() const { return size_bytes_; }
  std::size_t element_bytes() const;
  std::size_t element_count() const { return size_bytes_ / element_bytes(); }
  std::byte* data() { return reinterpret_cast<std::byte*>(blocks_.data()); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(blocks_.data()); }

  // As it crosses the boundary; valid as long as this array stays where it is.
  assay_tensor tensor();

 private:
  struct alignas(64) Block {
    std::byte bytes[64];
  };

  std::string name_;
  std::uint32_t dtype_;
  std::vector<std::int64_t> shape_;
  std::size_t size_bytes_;
  std::vector<Block> blocks_;
};

// The outputs of one call by their place in the signature.
using Answer = std::map<std::uint32_t, Array>;

// Do two arrays have the same dtype and shape?
bool alike(const Array& a, const Array& b);

// Bytes of one sample; 0 when the first dimension of `shape` is not the batch.
std::size_t sample_bytes(const std::vector<std::int64_t>& shape, std::size_t size_bytes,
                         std::int64_t batch);

// Replaces each element by change(value, index), both double. FLOAT32 and FLOAT64; arrays of
// other types stay as they are.
template <typename Change>
void change_each(Array& array, Change change) {
  const auto apply = [&](auto* values) {
    for (std::size_t i = 0; i < array.element_count(); ++i) {
      values[i] = static_cast<std::remove_reference_t<decltype(*values)>>(
          change(static_cast<double>(values[i]), i));
    }
  };
  if (array.dtype() == ASSAY_FLOAT32) apply(reinterpret_cast<float*>(array.data()));
  if (array.dtype() == ASSAY_FLOAT64) apply(reinterpret_cast<double*>(array.data()));
}

// Element `index` of a FLOAT32 or FLOAT64 array; 0 of any other.
double value_at(const Array& array, std::size_t index);

}  // namespace wrapper
