#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cpu {

// Copies the model and the external files that it names into `folder` (made when missing), which
// can then be moved. Returns the model's file name. Throws ASSAY_INVALID_ARGUMENT for an external
// file that is not inside the model's folder, ASSAY_NOT_FOUND for a missing one.
std::string copy_onnx(const std::filesystem::path& model, const std::filesystem::path& folder);

// Locations of external data in the bytes of an ONNX file, sorted, each once. Bytes that are not an
// ONNX file give what can be found; judging them is ONNX Runtime's business.
std::vector<std::string> external_locations(const std::string& model_bytes);

}  // namespace cpu
