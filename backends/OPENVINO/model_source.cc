#include "model_source.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "openvino_core.h"

namespace openvino {
namespace {

namespace fs = std::filesystem;
using assay::backend::Document;
using assay::backend::Error;
using assay::backend::Signature;

struct Format {
  std::string_view name;
  bool is_folder;
  std::string_view beside;  // extension of a file that has to lie beside the model, "" for none
};
constexpr std::array<Format, 4> kFormats = {{
    {"onnx", false, ""},
    {"ir", false, ".bin"},
    {"saved_model", true, ""},
    {"tflite", false, ""},
}};

const Format& format_named(const std::string& name) {
  std::string known;
  for (const Format& format : kFormats) {
    if (name == format.name) return format;
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  throw Error(ASSAY_UNIMPLEMENTED, "the OPENVINO backend has no reader for model_format \"" + name +
                                       "\"; it reads: " + known);
}

void check_files(const fs::path& path, const Format& format) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw Error(ASSAY_NOT_FOUND, "there is no model at " + path.native());
  }
  if (fs::is_directory(path, error) != format.is_folder) {
    throw Error(ASSAY_INVALID_ARGUMENT,
                "model " + path.native() + " of model_format \"" + std::string(format.name) +
                    "\": " +
                    (format.is_folder ? "a folder is wanted, found a file"
                                      : "a file is wanted, found a folder"));
  }
  if (format.beside.empty()) return;
  fs::path beside = path;
  beside.replace_extension(format.beside);
  if (!fs::exists(beside, error)) {
    throw Error(ASSAY_NOT_FOUND, "model " + path.native() + " wants " + beside.native() +
                                     " beside it, which is not there");
  }
}

// OpenVINO tells these apart in its text only.
std::int32_t code_of(const std::string& reason) {
  if (reason.find("No conversion rule found") != std::string::npos) return ASSAY_UNIMPLEMENTED;
  if (reason.find("invalid external data") != std::string::npos) return ASSAY_NOT_FOUND;
  return ASSAY_INVALID_ARGUMENT;
}

// Names in a comma-separated list of the model info.
bool lists(const std::string& list, const std::string& name) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    std::string_view item(list.data() + at, comma - at);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item == name) return true;
    at = comma + 1;
  }
  return false;
}

// A list or comma-separated text, as the model info may write it.
std::string joined_names(const Document& configs, const std::string& key) {
  std::string names = configs.text(key, "");
  for (std::size_t i = 0; configs.has(key + "." + std::to_string(i)); ++i) {
    names += "," + configs.text(key + "." + std::to_string(i));
  }
  return names;
}

// A port may have several names; `wanted` are the model info's, `made` is the node that makes it.
std::string name_of_port(const ov::Output<const ov::Node>& port, const std::string& wanted,
                         const std::string& made) {
  const auto& names = port.get_names();
  std::vector<std::string> sorted(names.begin(), names.end());
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& name : sorted) {
    if (lists(wanted, name)) return name;
  }
  if (sorted.empty() || names.count(made) > 0) return made;
  return sorted.front();
}

// A result is called after what it gives out: "y/sink_port_0".
std::string result_name(const ov::Output<const ov::Node>& port) {
  const std::string& name = port.get_node()->get_friendly_name();
  return name.substr(0, name.rfind("/sink_port"));
}

}  // namespace

std::shared_ptr<ov::Model> read_source(const Document& configs) {
  const Format& format = format_named(configs.text("model_info.model_format", "onnx"));
  const std::string path = configs.text("model_info.model_path");
  check_files(path, format);
  try {
    return core().read_model(path);
  } catch (const ov::Exception& e) {
    throw as_error(code_of(reason_of(e)), "reading " + path, e);
  }
}

Signature signature_of(const ov::Model& model, const Document& configs) {
  Signature signature;
  const std::string inputs = joined_names(configs, "model_info.inputs");
  for (const auto& port : model.inputs()) {
    const std::string name = name_of_port(port, inputs, port.get_node()->get_friendly_name());
    signature.inputs.push_back(
        {name, dtype_of(port.get_element_type(), name), dims_of(port.get_partial_shape())});
  }
  const std::string outputs = joined_names(configs, "model_info.outputs");
  for (const auto& port : model.outputs()) {
    const std::string name = name_of_port(port, outputs, result_name(port));
    signature.outputs.push_back(
        {name, dtype_of(port.get_element_type(), name), dims_of(port.get_partial_shape())});
  }
  return signature;
}

}  // namespace openvino
