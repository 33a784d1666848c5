#pragma once

// One infer of the wrapper, as a fault sees it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "array.h"
#include "assay/backend.hpp"

namespace wrapper {

// Borrows everything; valid until infer returns. The wrapped backend's failures, and what the host
// has against an output, are thrown as backend::Error with their code.
class Call {
 public:
  Call(const assay_runtime_table& wrapped, assay_runtime* runtime,
       const assay_infer_request& request)
      : wrapped_(&wrapped), runtime_(runtime), request_(&request) {}

  std::span<const assay_tensor> inputs() const {
    return {request_->inputs, static_cast<std::size_t>(request_->input_count)};
  }
  std::vector<Array> copied_inputs() const;
  // The samples of the call: the first dimension of the first input, 1 when that is a scalar.
  std::int64_t batch() const;
  // Dtypes and shapes of the inputs; equal for calls that can share outputs.
  std::string shape_key() const;

  // The right answer: of the caller's inputs, or of others in their place.
  Answer compute() const { return compute(inputs()); }
  Answer compute(std::vector<Array>& inputs) const;
  Answer compute(std::span<const assay_tensor> inputs) const;

  // Asks the host for the memory of one output.
  std::byte* allocate(std::uint32_t index, const Array& output) const;
  // Gives `answer` to the host as the outputs of this call.
  void deliver(const Answer& answer) const;

 private:
  const assay_runtime_table* wrapped_;
  assay_runtime* runtime_;
  const assay_infer_request* request_;
};

}  // namespace wrapper
