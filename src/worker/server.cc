#include "worker/server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "drill/drill.h"
#include "worker/protocol.h"
#include "worker/server_state.h"

namespace assay::worker {
namespace {

// What a backend logs goes to the phase's log, which is this process's standard error.
class StderrLog : public host::LogSink {
 public:
  void write(std::uint32_t level, std::string_view line) override {
    fmt::print(stderr, "[{}] {}\n", level, line);
  }
};

Json error_reply(const Status& status) {
  return Json{
      {"error", {{"code", static_cast<int>(status.code())}, {"message", status.message()}}}};
}

Json to_json(const host::ProbeResult& probe) {
  Json devices = Json::array();
  for (const host::Device& device : probe.devices) {
    devices.push_back({{"id", device.id},
                       {"name", device.name},
                       {"serial", device.serial},
                       {"numa_node", device.numa_node},
                       {"memory_bytes", device.memory_bytes}});
  }
  return Json{{"available", probe.available},
              {"reason", probe.reason},
              {"driver_version", probe.driver_version},
              {"sdk_version", probe.sdk_version},
              {"devices", devices}};
}

}  // namespace

template <typename T>
Result<T> member(const Json& json, const char* key) {
  try {
    return json.at(key).get<T>();
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("argument \"{}\": {}", key, error.what()));
  }
}
template Result<bool> member(const Json&, const char*);
template Result<std::string> member(const Json&, const char*);
template Result<Json> member(const Json&, const char*);
template Result<std::vector<std::string>> member(const Json&, const char*);
template Result<std::int64_t> member(const Json&, const char*);
template Result<std::uint32_t> member(const Json&, const char*);
template Result<std::uint64_t> member(const Json&, const char*);

const std::map<std::string, Server::Handler>& Server::handlers() {
  static const std::map<std::string, Handler> kHandlers = {
      {"hello", &Server::hello},
      {"log_to", &Server::log_to},
      {"open", &Server::open},
      {"probe", &Server::probe},
      {"interact_profile", &Server::interact_profile},
      {"pre_optimize", &Server::pre_optimize},
      {"best_batch_size", &Server::best_batch_size},
      {"compile", &Server::compile},
      {"load", &Server::load},
      {"arena", &Server::arena},
      {"record", &Server::record},
      {"infer", &Server::infer},
      {"measure", &Server::measure},
      {"exercise", &Server::exercise},
      {"harness", &Server::harness},
      {"benchmark", &Server::benchmark},
      {"facts", &Server::facts},
      {"segments", &Server::segments},
      {"drill", &Server::drill},
      {"close", &Server::close},
  };
  return kHandlers;
}

int Server::run() {
  while (!leaving_) {
    const Result<Message> message = channel_.receive(std::nullopt);
    if (!message.ok()) return message.status().code() == StatusCode::kUnavailable ? 0 : 1;
    const Result<Json> reply = dispatch(*message);
    const std::scoped_lock lock(sending_);
    if (!channel_.send(reply.ok() ? *reply : error_reply(reply.status())).ok()) return 0;
  }
  // Stays until the controller has looked at what this process holds.
  (void)channel_.receive(std::nullopt);
  return 0;
}

Result<Json> Server::dispatch(const Message& message) {
  const std::string op = message.body->value("op", "");
  const auto handler = handlers().find(op);
  if (handler == handlers().end()) {
    if (message.fd >= 0) ::close(message.fd);
    return unimplemented(fmt::format("no operation \"{}\"", op));
  }
  return (this->*handler->second)(message.body.get(), message.fd);
}

Result<Json> Server::event(Json body, bool wants_reply) {
  body["wants_reply"] = wants_reply;
  const std::scoped_lock lock(sending_);
  RETURN_IF_ERROR(channel_.send(body));
  if (!wants_reply) return Json::object();
  ASSIGN_OR_RETURN(const Message message, channel_.receive(std::nullopt));
  return message.body.get();
}

void Server::calling(const char* method) {
  (void)event({{"event", kCallingEvent}, {"method", method}}, false).ok();
}

Result<Json> Server::hello(const Json& request, int /*fd*/) {
  const int protocol = request.value("protocol", 0);
  if (protocol != kProtocolVersion) {
    return failed_precondition(fmt::format("the controller speaks protocol {}, this worker {}",
                                           protocol, kProtocolVersion));
  }
  return Json{{"protocol", kProtocolVersion}};
}

// What is printed from now on belongs to another phase.
Result<Json> Server::log_to(const Json& /*request*/, int fd) {
  if (fd < 0) return invalid_argument("log_to without a file");
  (void)std::fflush(nullptr);
  const bool done = ::dup2(fd, STDOUT_FILENO) >= 0 && ::dup2(fd, STDERR_FILENO) >= 0;
  const int error = errno;
  ::close(fd);
  if (!done) return errno_status(error, "cannot write to another log");
  return Json::object();
}

host::LogSink* backend_log() {
  static StderrLog log;
  return &log;
}

Result<Json> Server::open(const Json& request, int /*fd*/) {
  ASSIGN_OR_RETURN(const std::string path, member<std::string>(request, "library"));
  ASSIGN_OR_RETURN(host::Library library, host::Library::open(path, backend_log()));
  library_ = std::move(library);
  return Json{{"interface_version", library_->interface_version()}};
}

Result<host::CompileBackend*> Server::compiler() {
  if (!library_) return failed_precondition("no backend is open");
  if (!compiler_) {
    calling("create of the compile backend");
    ASSIGN_OR_RETURN(host::CompileBackend made, host::CompileBackend::create(*library_));
    compiler_.emplace(std::move(made));
  }
  return &*compiler_;
}

Result<host::RuntimeBackend*> Server::runtime() {
  if (!library_) return failed_precondition("no backend is open");
  if (!runtime_) {
    calling("create of the runtime backend");
    ASSIGN_OR_RETURN(host::RuntimeBackend made, host::RuntimeBackend::create(*library_));
    runtime_.emplace(std::move(made));
  }
  return &*runtime_;
}

Result<Json> Server::probe(const Json& /*request*/, int /*fd*/) {
  if (!library_) return failed_precondition("no backend is open");
  calling("probe");
  ASSIGN_OR_RETURN(const std::optional<host::ProbeResult> found, host::probe(*library_));
  ASSIGN_OR_RETURN(host::CompileBackend * backend, compiler());
  calling("get_traits");
  ASSIGN_OR_RETURN(const host::CompileTraits traits, backend->traits());
  ASSIGN_OR_RETURN(host::RuntimeBackend * running, runtime());
  calling("version");
  ASSIGN_OR_RETURN(const std::string version, running->version());
  return Json{{"probe", found ? to_json(*found) : Json(nullptr)},
              {"hardware_type", traits.hardware_type},
              {"need_reload", traits.need_reload},
              {"need_quant", traits.need_quant},
              {"version", version},
              {"interface_version", library_->interface_version()}};
}

// The backend that is open, or, before open, the library at "library".
Result<Json> Server::drill(const Json& request, int /*fd*/) {
  ASSIGN_OR_RETURN(const std::string name, member<std::string>(request, "name"));
  ASSIGN_OR_RETURN(const Json arguments, member<Json>(request, "arguments"));
  const drill::Context context{library_ ? &*library_ : nullptr, request.value("library", "")};
  ASSIGN_OR_RETURN(const drill::Finding found, drill::run_drill(name, context, arguments));
  return Json{{"violation", found.violation}, {"facts", *found.facts}};
}

Result<Json> Server::close(const Json& /*request*/, int /*fd*/) {
  leaving_ = true;
  RETURN_IF_ERROR(close_pipeline());
  if (runtime_) RETURN_IF_ERROR(runtime_->close());
  return Json::object();
}

int serve(Channel channel) { return Server(std::move(channel)).run(); }

}  // namespace assay::worker
