#include "model/model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "model/model.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

Result<std::vector<fs::path>> files_of(const fs::path& path, std::string_view format) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return not_found(fmt::format("there is no model at {}", quoted(path)));
  }
  if (!fs::is_directory(path, error)) {
    if (format != "ir") return std::vector<fs::path>{path};
    fs::path weights = path;
    weights.replace_extension(".bin");
    return std::vector<fs::path>{std::move(weights), path};
  }
  std::vector<fs::path> files;
  const auto options = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(path, options, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file(error)) files.push_back(at->path());
  }
  if (error) return errno_status(error.value(), "cannot look through model " + quoted(path));
  if (files.empty()) return invalid_argument(fmt::format("model {} has no file", quoted(path)));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<ModelFiles> hash_model_files(const fs::path& path, std::string_view format) {
  ASSIGN_OR_RETURN(const std::vector<fs::path> files, files_of(path, format));
  const fs::path folder = files.front() == path || format == "ir" ? path.parent_path() : path;
  ModelFiles result;
  std::string lines;
  for (const fs::path& file : files) {
    ASSIGN_OR_RETURN(const std::string hash, sha256_of_file(file));
    std::error_code error;
    result.size_bytes += fs::file_size(file, error);
    if (error) return errno_status(error.value(), "cannot look at " + quoted(file));
    lines += fmt::format("{} {}\n", file.lexically_relative(folder).generic_string(), hash);
    result.hash = hash;
  }
  if (files.front() != path) result.hash = sha256_hex(lines);
  return result;
}

Result<ModelFiles> identify_model(const fs::path& path, std::string_view format) {
  const Result<ModelFile> read = read_model(path, format);
  if (read.ok()) return ModelFiles{read->content_hash, read->size_bytes};
  if (read.status().code() != StatusCode::kUnimplemented) return read.status();
  return hash_model_files(path, format);
}

}  // namespace assay
