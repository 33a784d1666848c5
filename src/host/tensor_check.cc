#include "host/tensor_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace assay::host {
namespace {

// More dimensions than any model has; a number beyond it is garbage, not a shape.
constexpr std::uint32_t kMaxRank = 64;

// Does a concrete shape agree with `spec`? Gives its bytes.
bool shape_fits(const std::int64_t* shape, std::size_t rank, const TensorSpec& spec,
                std::uint64_t& size_bytes) {
  if (rank != spec.shape.size()) return false;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t wanted = spec.shape[i];
    if (wanted >= 0 ? shape[i] != wanted : shape[i] < 0) return false;
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(shape[i]), &elements)) {
      return false;
    }
  }
  return !__builtin_mul_overflow(elements, size_of(spec.dtype), &size_bytes);
}

std::string shape_text(const std::int64_t* shape, std::uint32_t rank) {
  if (rank > kMaxRank || (shape == nullptr && rank > 0)) return fmt::format("[rank {}]", rank);
  return to_string(Shape(shape, shape + rank));
}

std::string dtype_text(std::uint32_t dtype) {
  if (!is_dtype(dtype)) return fmt::format("dtype {}", dtype);
  return std::string(name_of(static_cast<DType>(dtype)));
}

bool aligned(const TensorView& view) {
  return reinterpret_cast<std::uintptr_t>(view.bytes.data()) % size_of(view.spec.dtype) == 0;
}

[[gnu::cold]] Status wrong_input(const TensorView& view, const TensorSpec& spec) {
  const bool same_spec = view.spec.name == spec.name && view.spec.dtype == spec.dtype &&
                         matches(view.spec.shape, spec.shape);
  if (!same_spec) {
    return invalid_argument(
        fmt::format("input: got {}, model wants {}", to_string(view.spec), to_string(spec)));
  }
  if (!aligned(view)) {
    return invalid_argument(
        fmt::format("input {}: its memory is not aligned to its elements", to_string(view.spec)));
  }
  const Result<std::size_t> wanted = byte_size(view.spec);
  if (!wanted.ok()) return wanted.status();
  return invalid_argument(fmt::format("input {}: got {} bytes, its shape wants {}",
                                      to_string(view.spec), view.bytes.size(), *wanted));
}

[[gnu::cold]] Status wrong_output(const assay_tensor& asked, const TensorSpec& spec,
                                  std::uint64_t wanted_bytes) {
  const std::string name = asked.name == nullptr ? "" : asked.name;
  const std::string got = fmt::format("\"{}\": {} {}", name, dtype_text(asked.dtype),
                                      shape_text(asked.shape, asked.rank));
  if (asked.strides != nullptr) {
    return internal_error(fmt::format("output {}: has strides, wanted: contiguous", got));
  }
  if (asked.memory_kind != ASSAY_MEMORY_HOST) {
    return internal_error(
        fmt::format("output {}: memory kind {}, wanted: host memory", got, asked.memory_kind));
  }
  if (wanted_bytes != 0 && wanted_bytes != asked.size_bytes) {
    return internal_error(fmt::format("output {}: backend asked for {} bytes, its shape wants {}",
                                      got, asked.size_bytes, wanted_bytes));
  }
  return internal_error(
      fmt::format("output: backend gave {}, its signature says {}", got, to_string(spec)));
}

}  // namespace

Status check_input(const TensorView& view, const TensorSpec& spec) {
  std::uint64_t wanted_bytes = 0;
  if (view.spec.dtype == spec.dtype &&
      shape_fits(view.spec.shape.data(), view.spec.shape.size(), spec, wanted_bytes) &&
      wanted_bytes == view.bytes.size() && aligned(view) && view.spec.name == spec.name) {
    return ok_status();
  }
  return wrong_input(view, spec);
}

Status check_output(const assay_tensor& asked, const TensorSpec& spec) {
  std::uint64_t wanted_bytes = 0;
  const bool shape_ok = (asked.shape != nullptr || asked.rank == 0) &&
                        shape_fits(asked.shape, asked.rank, spec, wanted_bytes);
  if (shape_ok && asked.dtype == static_cast<std::uint32_t>(spec.dtype) &&
      wanted_bytes == asked.size_bytes && asked.strides == nullptr &&
      asked.memory_kind == ASSAY_MEMORY_HOST && asked.name != nullptr &&
      std::strcmp(asked.name, spec.name.c_str()) == 0) {
    return ok_status();
  }
  return wrong_output(asked, spec, shape_ok ? wanted_bytes : 0);
}

void SignatureCollector::add(void* context, std::uint32_t end, const assay_tensor* tensor) {
  auto& self = *static_cast<SignatureCollector*>(context);
  if (!self.status_.ok()) return;
  try {
    self.status_ = self.add(end, *tensor);
  } catch (const std::exception& e) {
    self.status_ = internal_error(e.what());
  }
}

Status SignatureCollector::add(std::uint32_t end, const assay_tensor& tensor) {
  if (end != ASSAY_INPUT && end != ASSAY_OUTPUT) {
    return internal_error(fmt::format("end {} is neither input nor output", end));
  }
  auto& specs = end == ASSAY_INPUT ? signature_.inputs : signature_.outputs;
  const std::string what =
      fmt::format("{} {}", end == ASSAY_INPUT ? "input" : "output", specs.size());
  if (tensor.name == nullptr || *tensor.name == '\0') {
    return internal_error(what + " has no name");
  }
  const bool known = std::any_of(specs.begin(), specs.end(),
                                 [&](const TensorSpec& spec) { return spec.name == tensor.name; });
  if (known) return internal_error(fmt::format("{}: \"{}\" is there twice", what, tensor.name));
  if (!is_dtype(tensor.dtype)) {
    return internal_error(
        fmt::format("{} \"{}\": {} is not a dtype", what, tensor.name, tensor.dtype));
  }
  const bool has_shape = tensor.rank == 0 || (tensor.shape != nullptr && tensor.rank <= kMaxRank);
  if (!has_shape || std::any_of(tensor.shape, tensor.shape + tensor.rank,
                                [](std::int64_t dim) { return dim < -1; })) {
    return internal_error(fmt::format("{} \"{}\": {} is not a shape", what, tensor.name,
                                      shape_text(tensor.shape, tensor.rank)));
  }
  specs.push_back({tensor.name, static_cast<DType>(tensor.dtype),
                   Shape(tensor.shape, tensor.shape + tensor.rank)});
  return ok_status();
}

Result<Signature> SignatureCollector::take() {
  if (status_.ok() && signature_.outputs.empty()) {
    status_ = internal_error("the model has no outputs");
  }
  if (!status_.ok()) return status_.with_context("signature");
  return std::move(signature_);
}

}  // namespace assay::host
