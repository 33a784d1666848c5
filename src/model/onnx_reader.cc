#include "model/onnx_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx-ml.pb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "model/onnx_external.h"
#include "model/onnx_ranges.h"
#include "model/onnx_signature.h"
#include "model/onnx_walk.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultDomain = "ai.onnx";
// From this IR version on a model must name its operator sets (ONNX IR specification, "Models").
constexpr std::int64_t kFirstIrWithOpsets = 3;

std::string_view domain_name(const std::string& domain) {
  return domain.empty() ? kDefaultDomain : std::string_view(domain);
}

Status parse(const fs::path& path, onnx::ModelProto& proto) {
  std::error_code error;
  const std::uint64_t size_bytes = fs::file_size(path, error);
  if (error) return errno_status(error.value(), "cannot stat");
  if (size_bytes == 0) return data_loss("is empty (0 bytes)");
  if (size_bytes > std::uint64_t{std::numeric_limits<int>::max()}) {
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

Status check_limits(const onnx::ModelProto& proto, const ModelLimits& limits) {
  if (proto.ir_version() > limits.newest_ir_version) {
    return out_of_range(fmt::format("model IR {}, newest supported {}", proto.ir_version(),
                                    limits.newest_ir_version));
  }
  for (const auto& opset : proto.opset_import()) {
    const std::string_view domain = domain_name(opset.domain());
    for (const Opset& newest : limits.newest_opsets) {
      if (domain != newest.domain || opset.version() <= newest.version) continue;
      return out_of_range(fmt::format("model opset {} of {}, newest supported {}", opset.version(),
                                      domain, newest.version));
    }
  }
  return ok_status();
}

// Operators that compute in, or convert from and to, quantised integers.
bool is_quantize_op(std::string_view op) {
  static constexpr std::array<std::string_view, 9> kOps = {
      "QuantizeLinear", "DequantizeLinear",     "DynamicQuantizeLinear",
      "ConvInteger",    "MatMulInteger",        "DynamicQuantizeMatMul",
      "QAttention",     "MatMulIntegerToFloat", "QGemm"};
  return op.starts_with("QLinear") || std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

void count_operators(const onnx::ModelProto& proto, ModelFile& model) {
  for_each_node(proto, [&](const onnx::NodeProto& node) {
    const std::string_view domain = domain_name(node.domain());
    ++model.op_histogram[domain == kDefaultDomain ? node.op_type()
                                                  : fmt::format("{}.{}", domain, node.op_type())];
    model.has_quantize_nodes |= is_quantize_op(node.op_type());
  });
}

void read_header(const onnx::ModelProto& proto, ModelFile& model) {
  model.ir_version = proto.ir_version();
  for (const auto& opset : proto.opset_import()) {
    model.opsets.push_back({std::string(domain_name(opset.domain())), opset.version()});
  }
  model.producer = proto.producer_name();
  if (!proto.producer_version().empty()) model.producer += " " + proto.producer_version();
  model.initializer_count =
      proto.graph().initializer_size() + proto.graph().sparse_initializer_size();
}

Status hash_file(const fs::path& path, Sha256& hash, std::uint64_t& size_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_status(errno, "cannot open " + quoted(path));
  std::vector<char> buffer(std::size_t{1} << 20);
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    hash.update(std::string_view(buffer.data(), count));
    size_bytes += count;
  }
  return file.bad() ? data_loss("cannot read " + quoted(path)) : ok_status();
}

Status hash_content(ModelFile& model) {
  Sha256 hash;
  RETURN_IF_ERROR(hash_file(model.path, hash, model.size_bytes));
  for (const ExternalFile& file : model.external_files) {
    RETURN_IF_ERROR(hash_file(file.path, hash, model.size_bytes));
  }
  model.content_hash = hash.hex_digest();
  return ok_status();
}

}  // namespace

Result<ModelFile> read_onnx_model(const fs::path& path, const ModelLimits& limits) {
  onnx::ModelProto proto;
  RETURN_IF_ERROR(parse(path, proto));
  RETURN_IF_ERROR(check_complete(proto));
  RETURN_IF_ERROR(check_limits(proto, limits));

  ModelFile model;
  model.path = path;
  model.format = "onnx";
  read_header(proto, model);
  count_operators(proto, model);
  RETURN_IF_ERROR(read_signature(proto.graph(), model));
  ASSIGN_OR_RETURN(model.external_files, find_external_files(proto, path));
  model.input_ranges = find_input_ranges(proto.graph(), model.signature);
  RETURN_IF_ERROR(hash_content(model));
  return model;
}

}  // namespace assay
