#pragma once

// OpenVINO in this process: its core, its types and its failures in the boundary's words.

#include <exception>
#include <openvino/core/partial_shape.hpp>
#include <openvino/runtime/core.hpp>
#include <string>

#include "assay/backend.hpp"

namespace openvino {

inline constexpr const char* kDevice = "CPU";

// One for the process, made by the first call and never destroyed: with it its plugins would be
// unloaded, whose threads may still live. Throws ASSAY_UNAVAILABLE. Thread-safe.
ov::Core& core();

// "2026.4.1-22982-e213a147257-releases/2026/4"
std::string runtime_build();

// "Intel(R) Xeon(R) Processor"
std::string device_name();

// The boundary's dtype of an element type; throws ASSAY_UNIMPLEMENTED naming `tensor` for those
// that cannot cross (text, less than a byte).
assay::backend::DType dtype_of(const ov::element::Type& type, const std::string& tensor);

// "FLOAT32", the name in compile results.
const char* name_of(assay::backend::DType dtype);

// OpenVINO's own reason, without the places in its sources that its messages begin with.
std::string reason_of(const std::exception& e);

// A failure of OpenVINO while `doing` something.
assay::backend::Error as_error(std::int32_t code, const std::string& doing,
                               const std::exception& e);

// A shape as the boundary writes it: -1 where free.
std::vector<std::int64_t> dims_of(const ov::PartialShape& shape);

}  // namespace openvino
