#include "null_backend.h"

#include <utility>

#include "host/backend.h"

namespace assay::bench {

NullBackendTarget::NullBackendTarget(host::RuntimeBackend runtime, Tensor input)
    : runtime_(std::move(runtime)), input_(std::move(input)), inputs_{input_.view()} {}

Result<std::unique_ptr<NullBackendTarget>> NullBackendTarget::load() {
  ASSIGN_OR_RETURN(const host::Manifest manifest,
                   host::find_backend("NULL", {ASSAY_BACKENDS_FOLDER}));
  ASSIGN_OR_RETURN(const host::Library library, host::Library::open(manifest.library_path()));
  ASSIGN_OR_RETURN(host::RuntimeBackend runtime, host::RuntimeBackend::create(library));
  host::LoadRequest request;
  request.configs = "{}";
  RETURN_IF_ERROR(runtime.load(request));
  ASSIGN_OR_RETURN(Tensor input, Tensor::make({"x", DType::kFloat32, {1, 1}}));
  return std::unique_ptr<NullBackendTarget>(
      new NullBackendTarget(std::move(runtime), std::move(input)));
}

Result<std::span<std::byte>> NullBackendTarget::allocate(std::size_t, std::span<const std::int64_t>,
                                                         std::size_t size_bytes) {
  if (size_bytes > output_.size()) return out_of_range("null backend: output above 64 bytes");
  return std::span(output_).first(size_bytes);
}

}  // namespace assay::bench
