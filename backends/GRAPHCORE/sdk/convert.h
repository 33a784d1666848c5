#pragma once

// The vendor's converter, which makes an executable of an ONNX model. Never run on a machine with
// the SDK: what its arguments are is from its public documentation.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "options.h"

namespace graphcore {

inline constexpr const char* kExecutable = "executable.popef";  // what the converter writes

struct ConvertRequest {
  std::string model;                                        // the ONNX file
  std::string folder;                                       // where the executable and the log go
  std::map<std::string, std::vector<std::int64_t>> shapes;  // of the inputs, at the compiled batch
  Options options;
  std::string python = "python3";         // an interpreter that has poprt
  std::chrono::milliseconds deadline{0};  // 0: none; compiling may take hours
  std::function<bool()> goes_on;          // false ends the conversion
};

// python -m poprt.cli and its arguments, each a word of its own.
std::vector<std::string> converter_arguments(const ConvertRequest& request);

// Throws backend::Error: ASSAY_RESOURCE_EXHAUSTED when the model does not fit the chip's memory,
// ASSAY_DEADLINE_EXCEEDED, ASSAY_CANCELLED, ASSAY_UNAVAILABLE when there is no converter, else
// ASSAY_UNKNOWN; with the end of the converter's log, which is kept in the folder as convert.log.
void convert(const ConvertRequest& request);

}  // namespace graphcore
