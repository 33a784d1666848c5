#include "request.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "element.h"

namespace kserve {
namespace {

using assay::backend::TensorSpec;

static_assert(std::endian::native == std::endian::little, "tensors travel as they lie in memory");

std::string described(const assay_tensor& input) {
  const std::vector<std::int64_t> shape(input.shape, input.shape + input.rank);
  return R"({"name":)" + Json(input.name).dump() + R"(,"shape":)" + Json(shape).dump() +
         R"(,"datatype":")" + wire_name(static_cast<assay::backend::DType>(input.dtype)) + '"';
}

std::string wanted(const std::vector<TensorSpec>& outputs, bool binary) {
  if (outputs.empty()) return {};  // not known yet: all that there are
  Json list = Json::array();
  for (const TensorSpec& output : outputs) {
    list.push_back({{"name", output.name}, {"parameters", {{"binary_data", binary}}}});
    if (!binary) list.back().erase("parameters");
  }
  return R"(,"outputs":)" + list.dump();
}

}  // namespace

InferRequest build_request(const std::string& id, const assay_tensor* inputs, std::size_t count,
                           const std::vector<TensorSpec>& outputs, Transport transport) {
  const bool binary = transport == Transport::kBinary;
  InferRequest request;
  std::string& body = request.body;
  body = R"({"id":)" + Json(id).dump();
  if (binary && outputs.empty()) body += R"(,"parameters":{"binary_data_output":true})";
  body += R"(,"inputs":[)";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) body += ',';
    body += described(inputs[i]);
    if (binary) {
      body += R"(,"parameters":{"binary_data_size":)" + std::to_string(inputs[i].size_bytes) + "}}";
    } else {
      body += R"(,"data":[)";
      append_numbers(inputs[i], body);
      body += "]}";
    }
  }
  body += ']' + wanted(outputs, binary) + '}';
  if (!binary) return request;
  request.header_length = body.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (inputs[i].size_bytes == 0) continue;
    body.append(static_cast<const char*>(inputs[i].data), inputs[i].size_bytes);
  }
  return request;
}

}  // namespace kserve
