#pragma once

// The folder that a bisection leaves: bisect.json, and what its finding takes to be seen again.
// Internal to controller.

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"
#include "controller/bisect_cuts.h"

namespace assay::controller {

// Names in the folder. Tensors are stores of one sample (check/output_store.h), and the same as
// .npy beside them.
inline constexpr const char* kBisectRecord = "bisect.json";
inline constexpr const char* kMinimalModel = "minimal.onnx";
inline constexpr const char* kMinimalInput = "input.tensors";
inline constexpr const char* kMinimalExpected = "expected.tensors";
inline constexpr const char* kMinimalGot = "got.tensors";

Status write_tensors(const std::filesystem::path& path, const TensorSet& tensors);
Result<TensorSet> read_tensors(const std::filesystem::path& path);

// The finding's files into `folder`; what `files` of bisect.json says of them.
Result<JsonValue> write_minimal(const CutSeen& finding, const std::filesystem::path& folder);

// kAlreadyExists when `folder` holds anything.
Status check_free_folder(const std::filesystem::path& folder);

// Puts a finished folder in the place of `to`, which does not exist, is empty, or is an earlier
// bisection's own.
Status put_folder(const std::filesystem::path& from, const std::filesystem::path& to);

Json to_json(const CutSeen& seen);

}  // namespace assay::controller
