#include "model/model.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/file.h"
#include "model/onnx_reader.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string_view name;
  std::string_view extension;
  Result<ModelFile> (*read)(const fs::path& path, const ModelLimits& limits);
};

constexpr std::array<Format, 1> kFormats = {{{"onnx", ".onnx", read_onnx_model}}};

std::string known_formats() {
  std::string names;
  for (const Format& format : kFormats) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", format.name, format.extension);
  }
  return names;
}

const Format* find_format(const fs::path& path, std::string_view name) {
  for (const Format& format : kFormats) {
    if (name.empty() ? path.extension() == format.extension : name == format.name) return &format;
  }
  return nullptr;
}

}  // namespace

const InputRange* ModelFile::range_of(std::string_view input) const {
  for (std::size_t i = 0; i < signature.inputs.size() && i < input_ranges.size(); ++i) {
    if (signature.inputs[i].name == input) return &input_ranges[i];
  }
  return nullptr;
}

Result<ModelFile> read_model(const fs::path& path, std::string_view format,
                             const ModelLimits& limits) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return not_found(fmt::format("there is no model at {}", quoted(path)));
  }
  if (error) return errno_status(error.value(), "cannot look at model " + quoted(path));
  // Some formats are folders: whether one is wanted here, only its own reader would know.
  const Format* const reader = find_format(path, format);
  const bool is_other_format = reader == nullptr && !format.empty();
  if (status.type() != fs::file_type::regular && !is_other_format) {
    return invalid_argument(fmt::format("model {} is {}, a file is wanted", quoted(path),
                                        fs::is_directory(status) ? "a folder" : "not a file"));
  }
  if (reader == nullptr) {
    return unimplemented(fmt::format("cannot read {} as a model of format \"{}\"; known: {}",
                                     quoted(path), format, known_formats()));
  }
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  Result<ModelFile> model = reader->read(absolute, limits);
  if (!model.ok()) return model.status().with_context("model " + quoted(path));
  return model;
}

}  // namespace assay
