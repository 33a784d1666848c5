#include "drill/answers.h"

#include <algorithm>
#include <utility>

namespace assay::drill {

Result<std::span<std::byte>> AnswerSink::allocate(std::size_t index,
                                                  std::span<const std::int64_t> shape,
                                                  std::size_t /*size_bytes*/) {
  const TensorSpec& declared = signature_->outputs[index];
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::make({declared.name, declared.dtype,
                                                Shape(shape.begin(), shape.end())}));
  std::ranges::fill(tensor.bytes(), std::byte{poison_});
  return outputs_.insert_or_assign(index, std::move(tensor)).first->second.bytes();
}

std::vector<Tensor> AnswerSink::take() {
  std::vector<Tensor> taken;
  taken.reserve(outputs_.size());
  for (auto& [index, tensor] : outputs_) taken.push_back(std::move(tensor));
  outputs_.clear();
  return taken;
}

Result<std::vector<Tensor>> answer(host::RuntimeBackend& runtime, const std::vector<Tensor>& inputs,
                                   std::uint8_t poison) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> lent, copies_of(inputs));
  AnswerSink sink(runtime.signature(), poison);
  RETURN_IF_ERROR(runtime.infer(views_of(lent), sink));
  return sink.take();
}

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> views;
  views.reserve(tensors.size());
  for (const Tensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

}  // namespace assay::drill
