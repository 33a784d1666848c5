#pragma once

// Inputs and the answers that they have to get.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::drill {

// Tensors in the order of the signature. Without outputs the right answer is not known beforehand.
struct Case {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

Json to_json(const Case& one);
Result<Case> case_from_json(const Json& json);

Result<std::vector<Tensor>> copies_of(const std::vector<Tensor>& tensors);
Result<Case> copy_of(const Case& one);

// `count` values of `dtype` that every backend can hold exactly: 0, 1, 1/2, 2 for floating dtypes,
// 0 and 1 for BOOL, 0, 1, 1, 0 for integers, which may be indices. With `extremes` the largest and
// the smallest finite ones too. `seed` moves the sequence.
struct Values {
  std::uint64_t seed = 0;
  bool extremes = false;
};
Result<Tensor> tensor_with(TensorSpec spec, const Values& values);

// Samples first, first + 1, ... of `samples`, `count` of them, taken round, as one batch: each
// tensor's dimension 0 is 1 in a sample and `count` in the batch.
Result<Case> batch_of(const std::vector<Case>& samples, std::size_t first, std::int64_t count);

// "" when the tensors are the same bit for bit, else the first difference:
// `output "y", byte 4 of 16: got 0x3f, wanted 0x00`.
std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted);

}  // namespace assay::drill
