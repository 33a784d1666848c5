#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace assay {

// What identifies a model whatever its format.
struct ModelFiles {
  // Of a model that read_model() reads: its content_hash. Else of the file; of a folder, or of a
  // model of several files, SHA-256 over a line "NAME SHA-256" for each in the order of their
  // names.
  std::string hash;
  std::uint64_t size_bytes = 0;
};

// Reads every file of the model once, without understanding it. `format` is a model info's
// model_format: the weights of an "ir" lie beside it, in a file that ends in .bin; links in folders
// are followed. kNotFound names what is missing; kInvalidArgument: a folder without any file.
Result<ModelFiles> hash_model_files(const std::filesystem::path& path, std::string_view format);

// That of read_model() where it has a reader for the format, else of hash_model_files().
Result<ModelFiles> identify_model(const std::filesystem::path& path, std::string_view format);

}  // namespace assay
