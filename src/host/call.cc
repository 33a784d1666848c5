#include "host/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "host/boundary.h"

namespace assay::host {

OutputCall::OutputCall(const CallContext& context, OutputSink& outputs)
    : context_(context),
      outputs_(&outputs),
      sink_{sizeof(assay_output_sink), 0, this, &OutputCall::alloc_output},
      given_(context.outputs->size()) {
  std::memset(given_.data(), 0, context.outputs->size());
}

Status OutputCall::allocate(std::uint32_t index, assay_tensor& output) {
  if (index >= context_.outputs->size()) {
    return internal_error(fmt::format("backend asked for output {}, its signature has {}", index,
                                      context_.outputs->size()));
  }
  const TensorSpec& spec = (*context_.outputs)[index];
  if (given_[index] != 0) {
    return internal_error(fmt::format("backend asked for output \"{}\" twice", spec.name));
  }
  RETURN_IF_ERROR(check_output(output, spec));
  const Result<std::span<std::byte>> memory =
      outputs_->allocate(index, {output.shape, output.rank}, output.size_bytes);
  if (!memory.ok()) return memory.status();
  if (memory->size() < output.size_bytes) {
    return internal_error(fmt::format("output \"{}\": the sink gave {} bytes of {}", spec.name,
                                      memory->size(), output.size_bytes));
  }
  output.data = memory->data();
  given_[index] = 1;
  ++given_count_;
  return ok_status();
}

std::int32_t OutputCall::alloc_output(void* self, std::uint32_t index, assay_tensor* output,
                                      assay_error* error) {
  auto& call = *static_cast<OutputCall*>(self);
  output->data = nullptr;
  // Called from the backend's frames, which no exception may cross.
  try {
    Status status = call.allocate(index, *output);
    if (status.ok()) return ASSAY_OK;
    if (call.violation_.ok()) call.violation_ = std::move(status);
  } catch (const std::exception& e) {
    if (call.violation_.ok()) call.violation_ = internal_error(e.what());
  }
  return assay_set_error(error, static_cast<std::int32_t>(call.violation_.code()),
                         call.violation_.message().c_str());
}

Status OutputCall::missing_output() {
  const std::size_t count = context_.outputs->size();
  const auto* missing = std::find(given_.data(), given_.data() + count, 0);
  const auto& spec = (*context_.outputs)[static_cast<std::size_t>(missing - given_.data())];
  return internal_error(fmt::format("backend succeeded without giving output {}", to_string(spec)));
}

Status OutputCall::finish(std::int32_t code, const char* message, std::string_view what) {
  if (violation_.ok() && code == ASSAY_OK && given_count_ == context_.outputs->size()) {
    return ok_status();
  }
  if (violation_.ok() && code == ASSAY_OK) violation_ = missing_output();
  if (!violation_.ok())
    return violation_.with_context(fmt::format("{}: {}", context_.backend, what));
  return status_of(code, message, context_.backend, what);
}

}  // namespace assay::host
