#include "options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

namespace kserve {
namespace {

using assay::backend::Document;
using assay::backend::Error;

constexpr std::string_view kScheme = "http://";
constexpr std::array<std::pair<std::string_view, Transport>, 3> kTransports = {
    {{"auto", Transport::kAuto}, {"json", Transport::kJson}, {"binary", Transport::kBinary}}};

struct Count {
  const char* name;
  std::int64_t Options::* field;
  std::int64_t most;
};
constexpr std::array<Count, 4> kCounts = {
    {{"instances", &Options::instances, 1024},
     {"connect_timeout_ms", &Options::connect_timeout_ms, 3'600'000},
     {"read_timeout_ms", &Options::read_timeout_ms, 86'400'000},
     {"max_answer_mb", &Options::max_answer_mb, 4096}}};

[[noreturn]] void refuse(std::string_view name, const std::string& value,
                         const std::string& accepted) {
  throw Error(ASSAY_INVALID_ARGUMENT,
              "option " + std::string(name) + ": found \"" + value + "\", accepted: " + accepted);
}

[[noreturn]] void refuse_url(const std::string& url) {
  refuse("url", url, "http://host:port, with a path after it or not; TLS and user names are not");
}

std::int64_t checked(const Count& count, std::int64_t value) {
  if (value >= 1 && value <= count.most) return value;
  refuse(count.name, std::to_string(value), "1 to " + std::to_string(count.most));
}

int parse_port(const std::string& text, const std::string& url) {
  int port = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || parsed != end || port < 1 || port > 65535) refuse_url(url);
  return port;
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

std::string percent_encoded(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_plain(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return encoded;
}

// "" for the word that stands for no answer.
std::string unless(std::string value, std::string_view word) {
  return value == word ? std::string() : value;
}

}  // namespace

Transport parse_transport(const std::string& name) {
  for (const auto& [known, transport] : kTransports) {
    if (known == name) return transport;
  }
  refuse("transport", name, "auto, binary, json");
}

std::string_view name_of(Transport transport) {
  return kTransports.at(static_cast<std::size_t>(transport)).first;
}

Endpoint parse_url(const std::string& url) {
  if (!url.starts_with(kScheme)) refuse_url(url);
  std::string rest = url.substr(kScheme.size());
  const bool clean = std::all_of(rest.begin(), rest.end(), [](char c) {
    return is_plain(c) || std::string_view(":/[]%").find(c) != std::string_view::npos;
  });
  if (!clean) refuse_url(url);
  Endpoint endpoint;
  if (const std::size_t slash = rest.find('/'); slash != std::string::npos) {
    endpoint.prefix = rest.substr(slash);
    while (endpoint.prefix.ends_with('/')) endpoint.prefix.pop_back();
    rest.resize(slash);
  }
  const std::size_t bracket = rest.find(']');
  const std::size_t colon = rest.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) {
    endpoint.port = parse_port(rest.substr(colon + 1), url);
    rest.resize(colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty() || rest.find_first_of("[]%") != std::string::npos) refuse_url(url);
  endpoint.host = rest;
  return endpoint;
}

Options options_from_answers(const Document& configs) {
  Options options;
  const auto text = [&](const char* name, const std::string& fallback) {
    return configs.text(std::string("interact_info.") + name, fallback);
  };
  options.url = text("url", options.url);
  (void)parse_url(options.url);
  options.model = unless(text("model", "task"), "task");
  if (options.model.empty()) {
    options.model = configs.text("model_info.model", configs.text("model_info.name", ""));
  }
  if (options.model.empty()) refuse("model", "task", "a name; the task's model has none");
  options.version = unless(text("version", "any"), "any");
  options.transport = parse_transport(text("transport", "auto"));
  options.token_env = unless(text("token_env", "none"), "none");
  for (const Count& count : kCounts) {
    options.*count.field = checked(
        count, configs.integer(std::string("interact_info.") + count.name, options.*count.field));
  }
  return options;
}

Json to_json(const Options& options) {
  Json json = {{"url", options.url},
               {"model", options.model},
               {"version", options.version},
               {"transport", name_of(options.transport)},
               {"token_env", options.token_env}};
  for (const Count& count : kCounts) json[count.name] = options.*count.field;
  return json;
}

Options options_from_json(const Json& json) {
  Options options;
  options.url = json.at("url").get<std::string>();
  (void)parse_url(options.url);
  options.model = json.at("model").get<std::string>();
  options.version = json.at("version").get<std::string>();
  options.transport = parse_transport(json.at("transport").get<std::string>());
  options.token_env = json.at("token_env").get<std::string>();
  for (const Count& count : kCounts) {
    options.*count.field = checked(count, json.at(count.name).get<std::int64_t>());
  }
  return options;
}

std::string read_token(const Options& options) {
  if (options.token_env.empty()) return {};
  const char* const value = std::getenv(options.token_env.c_str());
  if (value == nullptr || *value == '\0') {
    throw Error(ASSAY_FAILED_PRECONDITION,
                "option token_env: the environment variable " + options.token_env + " is not set");
  }
  const std::string token = value;
  const bool clean =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7F'; });
  if (!clean) {
    throw Error(ASSAY_FAILED_PRECONDITION,
                "option token_env: the environment variable " + options.token_env +
                    " holds characters that no token has (blanks, control characters)");
  }
  return token;
}

std::string model_path(const Options& options) {
  std::string path = "/v2/models/" + percent_encoded(options.model);
  if (!options.version.empty()) path += "/versions/" + percent_encoded(options.version);
  return path;
}

}  // namespace kserve
