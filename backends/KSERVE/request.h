#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/backend.hpp"
#include "options.h"

namespace kserve {

// The body of an inference request. With binary tensors it is JSON of header_length bytes and then
// the tensors' bytes, little-endian, row-major, in input order.
struct InferRequest {
  std::string body;
  std::optional<std::size_t> header_length;
};

// `transport` is kJson or kBinary. Throws ASSAY_INVALID_ARGUMENT for what JSON cannot carry.
InferRequest build_request(const std::string& id, const assay_tensor* inputs, std::size_t count,
                           const std::vector<assay::backend::TensorSpec>& outputs,
                           Transport transport);

}  // namespace kserve
