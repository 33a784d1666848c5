#include "worker/client.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "worker/protocol.h"

namespace assay::worker {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kTick{100};
constexpr milliseconds kStartTimeout{30000};

// Processes that the kernel killed for memory in our cgroup so far; 0 where that cannot be read.
std::int64_t cgroup_oom_kills() {
  std::ifstream self("/proc/self/cgroup");
  std::string line;
  while (std::getline(self, line)) {
    if (!line.starts_with("0::")) continue;
    std::ifstream events("/sys/fs/cgroup" + line.substr(3) + "/memory.events");
    std::string name;
    std::int64_t value = 0;
    while (events >> name >> value) {
      if (name == "oom_kill") return value;
    }
  }
  return 0;
}

std::string megabytes(std::int64_t bytes) { return fmt::format("{} MB", bytes / 1'000'000); }

Status status_of_error(const Json& error) {
  if (!error.is_object()) return data_loss("the worker sent an error that is none");
  const int code = error.value("code", static_cast<int>(StatusCode::kUnknown));
  const bool known = code > 0 && code <= static_cast<int>(StatusCode::kDataLoss);
  return {known ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
          error.value("message", "no message")};
}

}  // namespace

Client::Client(ClientSettings settings, Channel channel, Process process)
    : settings_(std::move(settings)),
      channel_(std::move(channel)),
      process_(std::move(process)),
      oom_kills_at_start_(cgroup_oom_kills()) {}

Result<Client> Client::start(ClientSettings settings) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_status(errno, "cannot make a channel to the worker");
  }
  Channel ours(ends[0]);
  Channel theirs(ends[1]);
  ASSIGN_OR_RETURN(Process process, Process::start({.program = settings.program,
                                                    .arguments = {},
                                                    .environment = settings.environment,
                                                    .log = settings.log,
                                                    .channel_fd = theirs.fd()}));
  theirs.close();
  Client client(std::move(settings), std::move(ours), std::move(process));
  const Result<Json> hello = client.call("hello", Json{{"protocol", kProtocolVersion}},
                                         {.timeout = kStartTimeout, .tick = {}});
  if (!hello.ok()) return hello.status();
  return client;
}

Status Client::send(const std::string& op, Json arguments, int passed_fd) {
  if (death_) return {StatusCode::kAborted, death_->reason};
  arguments["op"] = op;
  const Status sent = channel_.send(arguments, passed_fd);
  return sent.ok() ? sent : collect_end(op);
}

Result<Json> Client::call(const std::string& op, Json arguments, const CallOptions& options) {
  RETURN_IF_ERROR(send(op, std::move(arguments), options.passed_fd));
  return receive(op, options);
}

Result<Json> Client::receive(const std::string& op, const CallOptions& options) {
  if (death_) return Status(StatusCode::kAborted, death_->reason);
  std::optional<Clock::time_point> deadline;
  if (options.timeout) deadline = Clock::now() + *options.timeout;
  while (true) {
    const auto tick_end = Clock::now() + kTick;
    Result<Message> message = channel_.receive(deadline ? std::min(*deadline, tick_end) : tick_end);
    if (message.ok()) {
      if (message->fd >= 0) ::close(message->fd);
      const Json& body = message->body.get();
      if (body.contains("event")) {
        const Json reply = on_event_ ? on_event_(body) : Json::object();
        if (body.value("wants_reply", false)) RETURN_IF_ERROR(channel_.send(reply));
        continue;
      }
      if (body.contains("error")) return status_of_error(body["error"]);
      return body;
    }
    if (message.status().code() == StatusCode::kUnavailable) return collect_end(op);
    if (message.status().code() != StatusCode::kDeadlineExceeded) {
      process_.kill_tree();
      return lost(Outcome::kFailed, fmt::format("{}: {}", op, message.status().message()));
    }
    RETURN_IF_ERROR(check_watches(op, deadline, options));
  }
}

Status Client::check_watches(const std::string& op, std::optional<Clock::time_point> deadline,
                             const CallOptions& options) {
  if (options.tick) options.tick();
  if (settings_.stop != nullptr && settings_.stop->load()) {
    return cancelled(fmt::format("interrupted during {}", op));
  }
  const std::int64_t rss_bytes = usage_of(process_.pid()).rss_bytes;
  if (settings_.memory_limit_bytes > 0 && rss_bytes > settings_.memory_limit_bytes) {
    process_.kill_tree();
    return lost(Outcome::kOutOfMemory,
                fmt::format("{}: the worker held {}, {} are allowed", op, megabytes(rss_bytes),
                            megabytes(settings_.memory_limit_bytes)));
  }
  if (deadline && Clock::now() >= *deadline) {
    process_.kill_tree();
    return lost(Outcome::kTimedOut,
                fmt::format("{} took longer than {} s", op,
                            static_cast<double>(options.timeout->count()) / 1000));
  }
  return ok_status();
}

Status Client::lost(Outcome outcome, const std::string& reason) {
  const std::optional<ProcessEnd> end = process_.wait(std::nullopt);
  if (end) peak_rss_bytes_ = end->peak_rss_bytes;
  death_ = PhaseEnd{outcome, reason};
  return {StatusCode::kAborted, reason};
}

Status Client::collect_end(const std::string& op) {
  std::optional<ProcessEnd> end = process_.wait(Clock::now() + settings_.close_grace);
  if (!end) {
    process_.kill_tree();
    return lost(Outcome::kCrashed, fmt::format("{}: the worker closed its channel", op));
  }
  const std::string tail = log_tail();
  if (!end->signalled) {
    return lost(Outcome::kCrashed,
                fmt::format("{}: the worker exited with code {}{}", op, end->code, tail));
  }
  if (end->code == SIGKILL && cgroup_oom_kills() > oom_kills_at_start_) {
    return lost(Outcome::kOutOfMemory,
                fmt::format("{}: the kernel killed the worker for memory", op));
  }
  return lost(Outcome::kCrashed, fmt::format("{}: the worker was ended by {} (signal {}){}", op,
                                             signal_name(end->code), end->code, tail));
}

PhaseEnd Client::end_of(const Status& status) const {
  if (status.ok()) return {};
  if (death_) return *death_;
  if (status.code() == StatusCode::kCancelled) return {Outcome::kSkipped, status.message()};
  return {Outcome::kFailed, status.to_string()};
}

void Client::finish() {
  if (std::exchange(finished_, true)) return;
  if (!death_) {
    const Json bye{{"op", "close"}};
    if (channel_.send(bye).ok()) process_.wait(Clock::now() + settings_.close_grace);
  }
  process_.kill_tree();
  const std::optional<ProcessEnd> end = process_.wait(std::nullopt);
  if (end) peak_rss_bytes_ = end->peak_rss_bytes;
}

std::string Client::log_tail() const {
  constexpr std::size_t kTailBytes = 400;
  const Result<std::string> text = read_file(settings_.log);
  if (!text.ok() || text->empty()) return "";
  const std::string tail =
      text->size() > kTailBytes ? text->substr(text->size() - kTailBytes) : *text;
  return fmt::format("; its last words ({}): {}", quoted(settings_.log), tail);
}

}  // namespace assay::worker
