#pragma once

// Reads what a server answers to an inference request. Every byte of it is somebody else's: nothing
// is believed, nothing grows beyond the limits.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend.hpp"
#include "element.h"

namespace kserve {

struct AnswerLimits {
  std::size_t values = 1 << 20;   // numbers in all "data" together
  std::size_t tensors = 1 << 10;  // outputs
};

struct OutputAnswer {
  std::string name;
  std::string datatype;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<std::uint64_t> binary_size;  // of the bytes after the JSON
  std::vector<Number> numbers;               // of "data", flat or nested, in order
  bool has_data = false;
  std::string_view bytes;  // into the body
};

struct Answer {
  std::optional<std::string> id;
  std::vector<OutputAnswer> outputs;
};

// `header_length` is that of Inference-Header-Content-Length: the JSON's part of `body`. The answer
// borrows `body`. Throws ASSAY_DATA_LOSS saying what is wrong.
Answer parse_answer(std::string_view body, std::optional<std::uint64_t> header_length,
                    const AnswerLimits& limits);

// The answer's output of this name, once its data type, shape and size are those of `spec`. Throws
// ASSAY_DATA_LOSS naming both sides.
const OutputAnswer& matching_output(const Answer& answer, const assay::backend::TensorSpec& spec);

// Writes the elements of an output that matches; `memory` has room for them.
void copy_output(const OutputAnswer& output, assay::backend::DType dtype, void* memory);

// "[1,10]"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace kserve
