#pragma once

// What the user may choose (KSERVE.json).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "assay/backend.hpp"

namespace kserve {

using Json = nlohmann::ordered_json;

// How tensors travel. kAuto is settled by a trial in compile.
enum class Transport : std::uint8_t { kAuto, kJson, kBinary };

Transport parse_transport(const std::string& name);
std::string_view name_of(Transport transport);

struct Endpoint {
  std::string host;
  int port = 80;
  std::string prefix;  // in front of /v2; "" or "/path" without a slash at its end
};

// Throws ASSAY_INVALID_ARGUMENT for what is no http://host[:port][/path].
Endpoint parse_url(const std::string& url);

struct Options {
  std::string url = "http://127.0.0.1:8080";
  std::string model;    // the name on the server
  std::string version;  // "": the server's choice
  Transport transport = Transport::kAuto;
  std::int64_t instances = 1;
  std::int64_t connect_timeout_ms = 5000;
  std::int64_t read_timeout_ms = 60000;
  std::int64_t max_answer_mb = 256;
  std::string token_env;  // the variable's name; "": no token

  std::size_t max_answer_bytes() const { return static_cast<std::size_t>(max_answer_mb) << 20; }
};

// The answers in configs.interact_info; `model` is the task's unless one is named. Throws
// ASSAY_INVALID_ARGUMENT naming what is accepted.
Options options_from_answers(const assay::backend::Document& configs);

// For the artifact; the token is not in it.
Json to_json(const Options& options);
Options options_from_json(const Json& json);

// The token of options.token_env; "" when none is named. Throws ASSAY_FAILED_PRECONDITION when the
// variable is not set or holds what no header may.
std::string read_token(const Options& options);

// "/v2/models/M[/versions/V]", with everything but letters, digits and -._~ percent-encoded.
std::string model_path(const Options& options);

}  // namespace kserve
