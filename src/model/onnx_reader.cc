#include "model/onnx_reader.h"

#include <fmt/format.h>
#include <onnx/onnx-ml.pb.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "model/onnx_external.h"
#include "model/onnx_file.h"
#include "model/onnx_ranges.h"
#include "model/onnx_signature.h"
#include "model/onnx_walk.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultDomain = "ai.onnx";

std::string_view domain_name(const std::string& domain) {
  return domain.empty() ? kDefaultDomain : std::string_view(domain);
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
  RETURN_IF_ERROR(load_onnx(path, proto));
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
