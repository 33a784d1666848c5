#include "model/onnx_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx-ml.pb.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// From this IR version on a model must name its operator sets (ONNX IR specification, "Models").
constexpr std::int64_t kFirstIrWithOpsets = 3;

Status parse(const fs::path& path, onnx::ModelProto& proto) {
  std::error_code error;
  const std::uint64_t size_bytes = fs::file_size(path, error);
  if (error) return errno_status(error.value(), "cannot stat");
  if (size_bytes == 0) return data_loss("is empty (0 bytes)");
  if (size_bytes > kLargestOnnxBytes) {
    return data_loss(
        "is larger than 2 GiB, the most an ONNX file can hold; weights beyond that "
        "belong in external data files");
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno_status(errno, "cannot open");
  google::protobuf::io::FileInputStream stream(fd);
  stream.SetCloseOnDelete(true);
  const google::protobuf::LogSilencer quiet;  // protobuf would print to stderr
  if (!proto.ParseFromZeroCopyStream(&stream)) {
    return data_loss("is not an ONNX model, or is truncated or corrupt");
  }
  return ok_status();
}

// A file of another kind may parse as unknown fields, and a file cut between two fields parses too.
Status check_complete(const onnx::ModelProto& proto) {
  std::string_view missing;
  if (!proto.has_ir_version()) missing = "an IR version";
  if (!proto.has_graph()) missing = "a graph";
  if (proto.ir_version() >= kFirstIrWithOpsets && proto.opset_import().empty()) {
    missing = "an operator set";
  }
  if (missing.empty()) return ok_status();
  return data_loss(
      fmt::format("has not got {}: not an ONNX model, or truncated or corrupt", missing));
}

}  // namespace

Status load_onnx(const fs::path& path, onnx::ModelProto& proto) {
  RETURN_IF_ERROR(parse(path, proto));
  return check_complete(proto);
}

Status save_onnx(const onnx::ModelProto& proto, const fs::path& path) {
  const std::uint64_t size_bytes = proto.ByteSizeLong();
  if (size_bytes > kLargestOnnxBytes) {
    return resource_exhausted(fmt::format(
        "{} would take {} bytes, and an ONNX file holds at most 2 GiB", quoted(path), size_bytes));
  }
  return write_file_atomic(path, proto.SerializeAsString());
}

}  // namespace assay
