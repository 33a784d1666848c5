#pragma once

// Internal to the room: tensors in the form in which they cross the boundary, and the checks that
// hold them against the signature. The checks run in the timed loop: they allocate only to say what
// is wrong.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assay/backend.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::host {

// `view` as a host tensor; borrows its name, shape and bytes.
inline assay_tensor boundary_tensor(const TensorView& view) {
  assay_tensor tensor;
  tensor.name = view.spec.name.c_str();
  tensor.dtype = static_cast<std::uint32_t>(view.spec.dtype);
  tensor.rank = static_cast<std::uint32_t>(view.spec.shape.size());
  tensor.shape = view.spec.shape.data();
  tensor.strides = nullptr;
  tensor.size_bytes = view.bytes.size();
  // Inputs are read only, as the boundary says; C has no way to say so for both directions.
  tensor.data = const_cast<std::byte*>(view.bytes.data());
  tensor.memory_kind = ASSAY_MEMORY_HOST;
  tensor.device_id = -1;
  tensor.reserved[0] = 0;
  tensor.reserved[1] = 0;
  return tensor;
}

// Fails unless `view` is what `spec` (-1 where free) wants, in name, dtype, rank, shape, byte size
// and alignment of elements. kInvalidArgument naming both sides.
Status check_input(const TensorView& view, const TensorSpec& spec);

// The same for an output that a backend asks for. kInternal naming both sides.
Status check_output(const assay_tensor& asked, const TensorSpec& spec);

// Takes the signature that a backend describes.
class SignatureCollector {
 public:
  SignatureCollector() : sink_{sizeof(assay_signature_sink), 0, this, &SignatureCollector::add} {}
  SignatureCollector(const SignatureCollector&) = delete;
  SignatureCollector& operator=(const SignatureCollector&) = delete;

  const assay_signature_sink* sink() const { return &sink_; }

  // kInternal for an unnamed or twice-named tensor, an unknown dtype, a dimension below -1, a model
  // without outputs.
  Result<Signature> take();

 private:
  static void add(void* context, std::uint32_t end, const assay_tensor* tensor);
  Status add(std::uint32_t end, const assay_tensor& tensor);

  Signature signature_;
  Status status_;
  assay_signature_sink sink_;
};

// `count` values of a trivial T, uninitialised; on the stack when there are at most 16.
template <typename T>
class InlineArray {
 public:
  explicit InlineArray(std::size_t count) {
    if (count > kInline) large_ = std::make_unique_for_overwrite<T[]>(count);
  }
  T* data() { return large_ ? large_.get() : small_; }
  T& operator[](std::size_t i) { return data()[i]; }

 private:
  static constexpr std::size_t kInline = 16;
  T small_[kInline];  // NOLINT(cppcoreguidelines-pro-type-member-init): hot path
  std::unique_ptr<T[]> large_;
};

}  // namespace assay::host
