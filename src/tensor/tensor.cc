#include "tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace assay {
namespace {
constexpr std::align_val_t kAlignment{64};
}  // namespace

std::string to_string(const TensorSpec& spec) {
  return fmt::format("\"{}\": {} {}", spec.name, name_of(spec.dtype), to_string(spec.shape));
}

Result<std::size_t> byte_size(const TensorSpec& spec) {
  ASSIGN_OR_RETURN(const std::int64_t count, element_count(spec.shape));
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(count), size_of(spec.dtype), &bytes)) {
    return out_of_range(fmt::format("{} has too many bytes", to_string(spec)));
  }
  return bytes;
}

void Tensor::Free::operator()(std::byte* data) const { ::operator delete[](data, kAlignment); }

Result<Tensor> Tensor::make(TensorSpec spec) {
  Tensor tensor;
  ASSIGN_OR_RETURN(tensor.size_bytes_, byte_size(spec));
  const std::size_t allocated = std::max<std::size_t>(tensor.size_bytes_, 1);
  void* data = ::operator new[](allocated, kAlignment, std::nothrow);
  if (data == nullptr) {
    return resource_exhausted(
        fmt::format("no memory for {} ({} bytes)", to_string(spec), tensor.size_bytes_));
  }
  std::memset(data, 0, allocated);
  tensor.data_.reset(static_cast<std::byte*>(data));
  tensor.spec_ = std::move(spec);
  return tensor;
}

}  // namespace assay
