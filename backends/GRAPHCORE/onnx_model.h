#pragma once

// ONNX files as messages. The classes are generated for this backend alone (onnx_messages.h): two
// copies of the same messages in one process would fight over protobuf's one table of names.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_messages.h"

namespace graphcore {

// Throws ASSAY_NOT_FOUND for a missing file, ASSAY_DATA_LOSS for one that is not an ONNX model.
onnx::ModelProto read_onnx(const std::string& path);

// The bytes of a message, the same for the same content.
std::string bytes_of(const onnx::ModelProto& model);

// "FLOAT16", the name in plans and reports; "type 23" for one without a name.
std::string type_name(int onnx_type);

// Bytes of one element; 0 for text and unknown types.
std::int64_t type_bytes(int onnx_type);

bool is_float(int onnx_type);

// Elements of a tensor by its dims.
std::int64_t element_count(const onnx::TensorProto& tensor);

// The elements of a float16, float or double tensor as float, of an integer or bool one as int64.
// Throws ASSAY_DATA_LOSS when its data is not as long as its dims say.
std::vector<float> float_values(const onnx::TensorProto& tensor);
std::vector<std::int64_t> integer_values(const onnx::TensorProto& tensor);

// A float tensor of the same name and dims.
onnx::TensorProto float_tensor(const onnx::TensorProto& like, const std::vector<float>& values);

}  // namespace graphcore
