#pragma once

// ONNX files as a whole, for those who read them and those who write changed copies.

#include <cstdint>
#include <filesystem>
#include <limits>

#include "base/result.h"

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace assay {

// What protobuf can hold in one file.
inline constexpr std::uint64_t kLargestOnnxBytes = std::numeric_limits<std::int32_t>::max();

// Parses `path`; external data is left where it is. kDataLoss when it is empty, truncated or not a
// model, or larger than an ONNX file can be.
Status load_onnx(const std::filesystem::path& path, onnx::ModelProto& proto);

// Replaces `path` as a whole. kResourceExhausted when the model is larger than 2 GiB.
Status save_onnx(const onnx::ModelProto& proto, const std::filesystem::path& path);

}  // namespace assay
