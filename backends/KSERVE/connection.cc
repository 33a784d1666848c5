#include "connection.h"

#include <httplib.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace kserve {
namespace {

using assay::backend::Error;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr const char* kHeaderLength = "Inference-Header-Content-Length";
constexpr std::size_t kQuotedBytes = 300;
constexpr std::size_t kErrorBodyBytes = 1 << 16;

std::optional<std::uint64_t> parse_length(const std::string& text) {
  std::uint64_t length = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, length);
  if (error == std::errc() && parsed == end) return length;
  throw Error(ASSAY_DATA_LOSS, std::string("the server's answer has ") + kHeaderLength + " \"" +
                                   text.substr(0, 40) + "\", which is no length");
}

// Printable ASCII only, and not much of it.
std::string printable(std::string_view text) {
  std::string clean;
  for (const char c : text.substr(0, kQuotedBytes)) clean += c >= ' ' && c < '\x7F' ? c : ' ';
  return text.size() > kQuotedBytes ? clean + "..." : clean;
}

// The text of {"error": text}, or of a body of another form.
std::string reason_in(const std::string& body) {
  if (body.size() > kErrorBodyBytes) return printable(body);
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return printable(body);
  for (const char* key : {"error", "detail", "message"}) {
    if (json.contains(key) && json[key].is_string()) return printable(json[key].get<std::string>());
  }
  return printable(body);
}

void replace_all(std::string& text, const std::string& what, std::string_view by) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
}

// An answer as it comes in, within its limits.
class Incoming {
 public:
  Incoming(std::size_t limit, Clock::time_point deadline) : limit_(limit), deadline_(deadline) {}

  bool begin(const httplib::Response& response) {
    begun_ = true;
    status_ = response.status;
    const std::string length = response.get_header_value("Content-Length");
    std::uint64_t announced = 0;
    (void)std::from_chars(length.data(), length.data() + length.size(), announced);
    too_large_ = announced > limit_;
    return !too_large_;
  }
  bool add(const char* data, std::size_t size) {
    too_large_ = size > limit_ - body_.size();
    late_ = Clock::now() > deadline_;
    if (too_large_ || late_) return false;
    body_.append(data, size);
    return true;
  }

  bool begun() const { return begun_; }
  bool too_large() const { return too_large_; }
  bool late() const { return late_ || Clock::now() >= deadline_; }
  int status() const { return status_; }
  std::string take_body() { return std::move(body_); }

 private:
  std::size_t limit_;
  Clock::time_point deadline_;
  std::string body_;
  int status_ = 0;
  bool begun_ = false;
  bool too_large_ = false;
  bool late_ = false;
};

}  // namespace

struct Connection::State {
  State(const Options& given, std::string secret)
      : options(given),
        endpoint(parse_url(given.url)),
        token(std::move(secret)),
        client(endpoint.host, endpoint.port) {
    client.set_keep_alive(true);
    client.set_tcp_nodelay(true);
    client.set_url_encode(false);
    client.set_follow_location(false);
    client.set_decompress(false);
    client.set_connection_timeout(milliseconds(options.connect_timeout_ms));
    client.set_read_timeout(milliseconds(options.read_timeout_ms));
    client.set_write_timeout(milliseconds(options.read_timeout_ms));
  }

  Reply send(httplib::Request& request);
  Reply reply_of(const httplib::Response& response, Incoming& incoming) const;
  [[noreturn]] void fail(const httplib::Request& request, httplib::Error error,
                         const Incoming& incoming) const;

  Options options;
  Endpoint endpoint;
  std::string token;
  httplib::Client client;
  std::uint64_t repeated = 0;
};

void Connection::State::fail(const httplib::Request& request, httplib::Error error,
                             const Incoming& incoming) const {
  const std::string what = request.method + ' ' + options.url + request.path + ": ";
  if (incoming.too_large()) {
    throw Error(ASSAY_DATA_LOSS, what + "the answer is larger than max_answer_mb, " +
                                     std::to_string(options.max_answer_mb) + " MB");
  }
  if (error == httplib::Error::ConnectionTimeout) {
    throw Error(ASSAY_UNAVAILABLE, what + "no connection within connect_timeout_ms, " +
                                       std::to_string(options.connect_timeout_ms) + " ms");
  }
  if (error == httplib::Error::Connection) {
    throw Error(ASSAY_UNAVAILABLE, what + "no connection: is the server running there?");
  }
  if (incoming.late()) {
    throw Error(ASSAY_DEADLINE_EXCEEDED, what + "no whole answer within read_timeout_ms, " +
                                             std::to_string(options.read_timeout_ms) + " ms");
  }
  if (incoming.begun()) throw Error(ASSAY_DATA_LOSS, what + "the answer was cut short");
  throw Error(ASSAY_UNAVAILABLE, what + "the server hung up without an HTTP answer (" +
                                     httplib::to_string(error) + ')');
}

Reply Connection::State::reply_of(const httplib::Response& response, Incoming& incoming) const {
  Reply reply;
  reply.status = response.status;
  reply.body = incoming.take_body();
  const std::string encoding = response.get_header_value("Content-Encoding");
  if (!encoding.empty() && encoding != "identity") {
    throw Error(ASSAY_DATA_LOSS, "the server's answer is encoded as " + printable(encoding) +
                                     ", which nobody asked for");
  }
  if (response.has_header(kHeaderLength)) {
    reply.header_length = parse_length(response.get_header_value(kHeaderLength));
  }
  return reply;
}

Reply Connection::State::send(httplib::Request& request) {
  request.path = endpoint.prefix + request.path;
  // Set here, since otherwise every encoding that the library was built with would be offered.
  request.set_header("Accept-Encoding", "identity");
  if (!token.empty()) request.set_header("Authorization", "Bearer " + token);
  while (true) {
    const bool idle_before = client.is_socket_open() != 0;
    Incoming incoming(options.max_answer_bytes(),
                      Clock::now() + milliseconds(options.read_timeout_ms));
    request.response_handler = [&](const httplib::Response& response) {
      return incoming.begin(response);
    };
    request.content_receiver = [&](const char* data, std::size_t size, std::uint64_t /*offset*/,
                                   std::uint64_t /*total*/) { return incoming.add(data, size); };
    httplib::Response response;
    httplib::Error error = httplib::Error::Success;
    if (client.send(request, response, error)) return reply_of(response, incoming);
    client.stop();
    const bool hung_up = error == httplib::Error::Read || error == httplib::Error::Write;
    if (!hung_up || !idle_before || incoming.begun() || incoming.late()) {
      fail(request, error, incoming);
    }
    ++repeated;
  }
}

Connection::Connection(const Options& options, std::string token)
    : state_(std::make_unique<State>(options, std::move(token))) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Reply Connection::get(const std::string& path) {
  httplib::Request request;
  request.method = "GET";
  request.path = path;
  return state_->send(request);
}

Reply Connection::post(const std::string& path, const std::string& body,
                       std::optional<std::size_t> header_length) {
  httplib::Request request;
  request.method = "POST";
  request.path = path;
  request.body = body;
  request.set_header("Content-Type",
                     header_length ? "application/octet-stream" : "application/json");
  if (header_length) request.set_header(kHeaderLength, std::to_string(*header_length));
  return state_->send(request);
}

const std::string& Connection::url() const { return state_->options.url; }
std::uint64_t Connection::repeated() const { return state_->repeated; }

std::string Connection::describe(const Reply& reply, const std::string& request) const {
  std::string text = request + ": HTTP " + std::to_string(reply.status);
  if (reply.status >= 300 && reply.status < 400) return text + " (redirections are not followed)";
  const std::string reason = reason_in(reply.body);
  if (!reason.empty()) text += ": " + reason;
  replace_all(text, state_->token, "(token)");
  return text;
}

}  // namespace kserve
