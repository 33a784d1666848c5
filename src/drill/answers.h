#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "drill/case.h"
#include "host/backend.h"

namespace assay::drill {

// Gives every output memory of its own, filled with one byte. Calls of one request only.
class AnswerSink : public host::OutputSink {
 public:
  AnswerSink(const Signature& signature, std::uint8_t poison)
      : signature_(&signature), poison_(poison) {}

  Result<std::span<std::byte>> allocate(std::size_t index, std::span<const std::int64_t> shape,
                                        std::size_t size_bytes) override;

  // The outputs that were asked for, in the order of the signature.
  std::vector<Tensor> take();

 private:
  const Signature* signature_;
  std::uint8_t poison_;
  std::map<std::size_t, Tensor> outputs_;
};

inline constexpr std::uint8_t kPoison = 0xA5;

// One call. The memory of outputs holds `poison` before it. The backend gets copies of the inputs:
// one that writes to them spoils this call's only.
Result<std::vector<Tensor>> answer(host::RuntimeBackend& runtime, const std::vector<Tensor>& inputs,
                                   std::uint8_t poison = kPoison);

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors);

}  // namespace assay::drill
