#include "call.h"

#include <cstring>

namespace wrapper {
namespace {

namespace backend = assay::backend;

// Takes the wrapped backend's outputs into an Answer.
int32_t keep_output(void* context, uint32_t index, assay_tensor* output, assay_error* error) {
  return backend::detail::guarded(error, [&] {
    Answer& answer = *static_cast<Answer*>(context);
    output->data = answer.insert_or_assign(index, Array(*output)).first->second.data();
  });
}

}  // namespace

std::vector<Array> Call::copied_inputs() const {
  std::vector<Array> copies;
  copies.reserve(inputs().size());
  for (const assay_tensor& input : inputs()) copies.push_back(Array::copy_of(input));
  return copies;
}

std::int64_t Call::batch() const {
  return inputs().empty() || inputs()[0].rank == 0 ? 1 : inputs()[0].shape[0];
}

std::string Call::shape_key() const {
  std::string key;
  for (const assay_tensor& input : inputs()) {
    key += std::to_string(input.dtype);
    for (std::uint32_t axis = 0; axis < input.rank; ++axis) {
      key += "," + std::to_string(input.shape[axis]);
    }
    key += ';';
  }
  return key;
}

Answer Call::compute(std::vector<Array>& inputs) const {
  std::vector<assay_tensor> tensors;
  tensors.reserve(inputs.size());
  for (Array& input : inputs) tensors.push_back(input.tensor());
  return compute(tensors);
}

Answer Call::compute(std::span<const assay_tensor> inputs) const {
  Answer answer;
  const assay_output_sink sink{sizeof sink, 0, &answer, keep_output};
  const assay_infer_request request{sizeof request, 0, inputs.data(), inputs.size(), &sink};
  backend::detail::HostError failure;
  failure.check(wrapped_->infer(runtime_, &request, &failure.error));
  return answer;
}

std::byte* Call::allocate(std::uint32_t index, const Array& output) const {
  assay_tensor tensor{};
  tensor.name = output.name().c_str();
  tensor.dtype = output.dtype();
  tensor.rank = static_cast<std::uint32_t>(output.shape().size());
  tensor.shape = output.shape().data();
  tensor.size_bytes = output.size_bytes();
  tensor.memory_kind = ASSAY_MEMORY_HOST;
  tensor.device_id = -1;
  const assay_output_sink& sink = *request_->outputs;
  backend::detail::HostError failure;
  failure.check(sink.alloc_output(sink.context, index, &tensor, &failure.error));
  return static_cast<std::byte*>(tensor.data);
}

void Call::deliver(const Answer& answer) const {
  for (const auto& [index, output] : answer) {
    std::byte* const room = allocate(index, output);
    if (output.size_bytes() > 0) std::memcpy(room, output.data(), output.size_bytes());
  }
}

}  // namespace wrapper
