#include "array.h"

#include <cstring>

namespace wrapper {

Array::Array(const assay_tensor& description)
    : name_(description.name),
      dtype_(description.dtype),
      shape_(description.shape, description.shape + description.rank),
      size_bytes_(description.size_bytes),
      blocks_(size_bytes_ / sizeof(Block) + 1) {}

Array Array::copy_of(const assay_tensor& tensor) {
  Array array(tensor);
  if (tensor.size_bytes > 0) std::memcpy(array.data(), tensor.data, tensor.size_bytes);
  return array;
}

std::size_t Array::element_bytes() const {
  return assay::backend::size_of(static_cast<assay::backend::DType>(dtype_));
}

assay_tensor Array::tensor() {
  assay_tensor tensor{};
  tensor.name = name_.c_str();
  tensor.dtype = dtype_;
  tensor.rank = static_cast<std::uint32_t>(shape_.size());
  tensor.shape = shape_.data();
  tensor.size_bytes = size_bytes_;
  tensor.data = data();
  tensor.memory_kind = ASSAY_MEMORY_HOST;
  tensor.device_id = -1;
  return tensor;
}

bool alike(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape();
}

std::size_t sample_bytes(const std::vector<std::int64_t>& shape, std::size_t size_bytes,
                         std::int64_t batch) {
  if (shape.empty() || shape[0] != batch || batch < 1) return 0;
  return size_bytes / static_cast<std::size_t>(batch);
}

double value_at(const Array& array, std::size_t index) {
  const std::byte* const at = array.data() + index * array.element_bytes();
  if (array.dtype() == ASSAY_FLOAT32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  double value = 0;
  if (array.dtype() == ASSAY_FLOAT64) std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace wrapper
