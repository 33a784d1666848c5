#include "model/onnx_external.h"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "base/file.h"
#include "model/onnx_file.h"
#include "model/onnx_walk.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Where the bytes of one tensor lie.
struct Placement {
  std::string tensor;
  std::string location;
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;  // 0: to the end of the file
};

Result<std::uint64_t> parse_count(const std::string& text, std::string_view what) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return data_loss(fmt::format("{} \"{}\" is not a count of bytes", what, text));
  }
  return value;
}

Result<Placement> read_placement(const onnx::TensorProto& tensor) {
  Placement placement;
  placement.tensor = tensor.name();
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") placement.location = entry.value();
    if (entry.key() == "offset") {
      ASSIGN_OR_RETURN(placement.offset_bytes, parse_count(entry.value(), "offset"));
    }
    if (entry.key() == "length") {
      ASSIGN_OR_RETURN(placement.length_bytes, parse_count(entry.value(), "length"));
    }
  }
  if (placement.location.empty()) return data_loss("external data without a location");
  return placement;
}

// Is `path` inside `folder`? Both canonical.
bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [folder_end, ignored] =
      std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return folder_end == folder.end();
}

Status refuse_location(const std::string& location, std::string_view why) {
  return invalid_argument(fmt::format(
      "external data at \"{}\" {}; it must lie in the model's own folder", location, why));
}

// The file that `location` names; `folder` is canonical.
Result<ExternalFile> resolve(const std::string& location, const fs::path& folder) {
  const fs::path relative(location);
  if (relative.is_absolute()) return refuse_location(location, "is an absolute path");
  if (*relative.lexically_normal().begin() == "..") {
    return refuse_location(location, "leaves the folder");
  }
  const fs::path named = folder / relative;
  std::error_code error;
  const fs::path path = fs::canonical(named, error);
  if (error == std::errc::no_such_file_or_directory) {
    return not_found(fmt::format("external data file {} is missing", quoted(named)));
  }
  if (error) return errno_status(error.value(), "cannot reach external data " + quoted(named));
  if (!is_inside(path, folder)) {
    return refuse_location(location, "is a link that leaves the folder");
  }
  if (!fs::is_regular_file(path, error)) return refuse_location(location, "is not a file");
  const std::uint64_t size_bytes = fs::file_size(path, error);
  if (error) return errno_status(error.value(), "cannot stat " + quoted(path));
  return ExternalFile{location, named, size_bytes};
}

Status check_length(const Placement& placement, const ExternalFile& file) {
  const std::uint64_t size = file.size_bytes;
  if (placement.offset_bytes <= size && placement.length_bytes <= size - placement.offset_bytes) {
    return ok_status();
  }
  return data_loss(fmt::format("external data file {} has {} bytes, {} at offset {} are needed",
                               quoted(file.path), size, placement.length_bytes,
                               placement.offset_bytes));
}

std::uint64_t bytes_taken(const Placement& placement, const ExternalFile& file) {
  return placement.length_bytes > 0 ? placement.length_bytes
                                    : file.size_bytes - placement.offset_bytes;
}

// Reads the bytes of one tensor into it; `file` has passed check_length.
Status embed(const Placement& placement, const ExternalFile& file, onnx::TensorProto& tensor) {
  std::ifstream stream(file.path, std::ios::binary);
  if (!stream) return errno_status(errno, "cannot open " + quoted(file.path));
  std::string& bytes = *tensor.mutable_raw_data();
  bytes.resize(bytes_taken(placement, file));
  stream.seekg(static_cast<std::streamoff>(placement.offset_bytes));
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    return data_loss("cannot read " + quoted(file.path));
  }
  tensor.clear_external_data();
  tensor.clear_data_location();
  return ok_status();
}

}  // namespace

Result<std::vector<ExternalFile>> find_external_files(const onnx::ModelProto& proto,
                                                      const fs::path& model_path) {
  std::error_code error;
  const fs::path folder = fs::canonical(model_path.parent_path(), error);
  if (error) return errno_status(error.value(), "cannot reach " + quoted(model_path.parent_path()));

  std::map<std::string, ExternalFile> files;
  const auto add = [&](const onnx::TensorProto& tensor) -> Status {
    ASSIGN_OR_RETURN(const Placement placement, read_placement(tensor));
    auto found = files.find(placement.location);
    if (found == files.end()) {
      ASSIGN_OR_RETURN(ExternalFile file, resolve(placement.location, folder));
      found = files.emplace(placement.location, std::move(file)).first;
    }
    return check_length(placement, found->second);
  };
  Status status;
  for_each_tensor(proto, [&](const onnx::TensorProto& tensor) {
    if (!status.ok() || tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    status = add(tensor).with_context(fmt::format("tensor \"{}\"", tensor.name()));
  });
  if (!status.ok()) return status;

  std::vector<ExternalFile> list;
  list.reserve(files.size());
  for (auto& [location, file] : files) list.push_back(std::move(file));
  return list;
}

Status embed_external_data(onnx::ModelProto& proto, const fs::path& model_path) {
  ASSIGN_OR_RETURN(const std::vector<ExternalFile> files, find_external_files(proto, model_path));
  std::uint64_t total_bytes = proto.ByteSizeLong();
  const auto embed_one = [&](onnx::TensorProto& tensor) -> Status {
    ASSIGN_OR_RETURN(const Placement placement, read_placement(tensor));
    const auto file = std::find_if(files.begin(), files.end(), [&](const ExternalFile& one) {
      return one.location == placement.location;
    });
    total_bytes += bytes_taken(placement, *file);
    if (total_bytes > kLargestOnnxBytes) {
      return resource_exhausted(
          "its external data does not fit into one ONNX file, which holds at most 2 GiB");
    }
    return embed(placement, *file, tensor);
  };
  Status status;
  for_each_tensor(proto, [&](onnx::TensorProto& tensor) {
    if (!status.ok() || tensor.data_location() != onnx::TensorProto::EXTERNAL) return;
    status = embed_one(tensor).with_context(fmt::format("tensor \"{}\"", tensor.name()));
  });
  return status;
}

}  // namespace assay
