#include "remote_model.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "element.h"
#include "request.h"

namespace kserve {
namespace {

using assay::backend::Error;
using assay::backend::TensorSpec;

constexpr std::size_t kMetadataBytes = std::size_t{1} << 20;
constexpr std::size_t kMostTensors = 1024;
constexpr std::size_t kMostDimensions = 32;

std::int32_t code_of(int status) {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return ASSAY_INVALID_ARGUMENT;
    case 401:
    case 403:
      return ASSAY_PERMISSION_DENIED;
    case 404:
      return ASSAY_NOT_FOUND;
    case 408:
    case 504:
      return ASSAY_DEADLINE_EXCEEDED;
    case 429:
      return ASSAY_RESOURCE_EXHAUSTED;
    case 501:
      return ASSAY_UNIMPLEMENTED;
    case 502:
    case 503:
      return ASSAY_UNAVAILABLE;
    default:
      break;
  }
  return status < 400 ? ASSAY_FAILED_PRECONDITION : ASSAY_INTERNAL;
}

void require_ok(const Connection& connection, const Reply& reply, const std::string& request) {
  if (!reply.ok()) throw Error(code_of(reply.status), connection.describe(reply, request));
}

Json parse_object(const Reply& reply, const std::string& request) {
  Json json;
  if (reply.body.size() <= kMetadataBytes) {
    json = Json::parse(reply.body, nullptr, /*allow_exceptions=*/false);
  }
  if (json.is_object()) return json;
  throw Error(ASSAY_DATA_LOSS, request + ": the answer is no JSON object of at most 1 MB");
}

Json get_object(Connection& connection, const std::string& path) {
  const std::string request = "GET " + connection.url() + path;
  const Reply reply = connection.get(path);
  require_ok(connection, reply, request);
  return parse_object(reply, request);
}

std::string text_at(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
}

TensorSpec parse_spec(const Json& json, const std::string& where) {
  TensorSpec spec;
  spec.name = json.at("name").get<std::string>();
  spec.dtype = dtype_of(json.at("datatype").get<std::string>(), where + " \"" + spec.name + '"');
  for (const Json& size : json.at("shape")) spec.shape.push_back(size.get<std::int64_t>());
  for (std::int64_t& size : spec.shape) size = size < 0 ? -1 : size;
  if (spec.shape.size() <= kMostDimensions) return spec;
  throw Error(ASSAY_DATA_LOSS, where + " \"" + spec.name + "\" has more than 32 dimensions");
}

std::vector<TensorSpec> parse_specs(const Json& json, const char* key, const std::string& where) {
  std::vector<TensorSpec> specs;
  if (!json.contains(key) || json[key].is_null()) return specs;
  if (!json[key].is_array() || json[key].size() > kMostTensors) {
    throw Error(ASSAY_DATA_LOSS, where + ": \"" + key + "\" is no list of tensors");
  }
  for (const Json& one : json[key]) specs.push_back(parse_spec(one, where + ", " + key));
  return specs;
}

void check_endpoint(Connection& connection, const std::string& path) {
  const Reply reply = connection.get(path);
  if (reply.ok() || reply.status == 404 || reply.status == 405) return;
  const std::string what = connection.describe(reply, "GET " + connection.url() + path);
  const std::int32_t code = code_of(reply.status);
  throw Error(code == ASSAY_PERMISSION_DENIED ? code : ASSAY_UNAVAILABLE, "not ready: " + what);
}

std::uint64_t count_at(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_string() ? std::stoull(value.get<std::string>()) : value.get<std::uint64_t>();
}

// The time of one part of the calls, summed over the versions; nothing once a version lacks it.
void add_part(const Json& statistics, const char* key, std::optional<std::uint64_t>& total) {
  if (!total || !statistics.contains(key)) {
    total.reset();
    return;
  }
  *total += count_at(statistics.at(key), "ns");
}

}  // namespace

void check_ready(Connection& connection, const Options& options) {
  check_endpoint(connection, "/v2/health/live");
  check_endpoint(connection, "/v2/health/ready");
  check_endpoint(connection, model_path(options) + "/ready");
}

ServerInfo server_info(Connection& connection) {
  const Json json = get_object(connection, "/v2");
  ServerInfo info{text_at(json, "name"), text_at(json, "version"), {}};
  if (!json.contains("extensions") || !json["extensions"].is_array()) return info;
  for (const Json& extension : json["extensions"]) {
    if (extension.is_string()) info.extensions.push_back(extension.get<std::string>());
  }
  return info;
}

Metadata model_metadata(Connection& connection, const Options& options) {
  const std::string path = model_path(options);
  const std::string where = connection.url() + path;
  const Json json = get_object(connection, path);
  try {
    return {text_at(json, "platform"),
            {parse_specs(json, "inputs", where), parse_specs(json, "outputs", where)}};
  } catch (const nlohmann::json::exception& e) {
    throw Error(ASSAY_DATA_LOSS, where + ": the metadata is not the protocol's: " + e.what());
  }
}

std::optional<Statistics> statistics(Connection& connection, const Options& options) {
  try {
    const std::string path = model_path(options) + "/stats";
    const Reply reply = connection.get(path);
    if (!reply.ok()) return std::nullopt;
    const Json json = parse_object(reply, path);
    Statistics total;
    total.queue_ns = 0;
    total.compute_ns = 0;
    for (const Json& version : json.at("model_stats")) {
      const Json& success = version.at("inference_stats").at("success");
      add_part(version.at("inference_stats"), "queue", total.queue_ns);
      add_part(version.at("inference_stats"), "compute_infer", total.compute_ns);
      total.calls += count_at(success, "count");
      total.time_ns += count_at(success, "ns");
    }
    return total;
  } catch (const std::exception&) {  // optional: whatever is wrong with it, there is none
    return std::nullopt;
  }
}

Reply post_inference(Connection& connection, const Options& options, const Call& call) {
  const InferRequest request =
      build_request(call.id, call.inputs, call.input_count, *call.outputs, call.transport);
  const std::string path = model_path(options) + "/infer";
  Reply reply = connection.post(path, request.body, request.header_length);
  require_ok(connection, reply, "POST " + connection.url() + path);
  return reply;
}

void check_id(const Answer& answer, const std::string& id) {
  if (!answer.id || *answer.id == id) return;
  throw Error(ASSAY_DATA_LOSS, "the server's answer has id \"" + answer.id->substr(0, 80) +
                                   "\", the request had \"" + id + '"');
}

}  // namespace kserve
