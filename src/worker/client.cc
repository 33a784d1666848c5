#include "worker/client.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/cgroup.h"
#include "base/file.h"
#include "worker/log_tail.h"
#include "worker/process_tree.h"
#include "worker/protocol.h"

namespace assay::worker {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kTick{100};
constexpr milliseconds kStartTimeout{30000};
constexpr std::size_t kTailBytes = 400;  // of a log, in a reason

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

Result<Client> Client::spawn(ClientSettings settings) {
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
  return Client(std::move(settings), std::move(ours), std::move(process));
}

Result<Client> Client::start(ClientSettings settings, PhaseEnd& end) {
  Result<Client> client = spawn(std::move(settings));
  if (!client.ok()) {
    end = {Outcome::kFailed, client.status().message()};
    return client;
  }
  const Result<Json> hello = client->call("hello", Json{{"protocol", kProtocolVersion}},
                                          {.timeout = kStartTimeout, .tick = {}});
  if (hello.ok()) return client;
  end = client->finish(hello.status());
  return hello.status();
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
    RETURN_IF_ERROR(check_watches(op, deadline, options));
    const auto tick_end = Clock::now() + kTick;
    Result<Message> message = channel_.receive(deadline ? std::min(*deadline, tick_end) : tick_end);
    if (message.ok()) {
      if (message->fd >= 0) ::close(message->fd);
      const Json& body = message->body.get();
      if (body.contains("event")) {
        const Json reply = on_event_ ? on_event_(body) : Json::object();
        if (body.value("wants_reply", false) && !channel_.send(reply).ok()) return collect_end(op);
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
  }
}

Status Client::check_watches(const std::string& op, std::optional<Clock::time_point> deadline,
                             const CallOptions& options) {
  if (interrupted()) return cancelled(fmt::format("interrupted during {}", op));
  const Clock::time_point now = Clock::now();
  if (deadline && now >= *deadline) {
    process_.kill_tree();
    return lost(Outcome::kTimedOut,
                fmt::format("{} took longer than {} s", op,
                            static_cast<double>(options.timeout->count()) / 1000));
  }
  if (now < next_look_) return ok_status();
  next_look_ = now + kTick;
  if (options.tick) options.tick();
  return check_memory(op);
}

Status Client::check_memory(const std::string& op) {
  const std::int64_t limit_bytes = settings_.memory_limit_bytes;
  if (limit_bytes <= 0) return ok_status();
  const std::int64_t held_bytes = resident_bytes_of(process_.tree(), limit_bytes);
  if (held_bytes <= limit_bytes) return ok_status();
  process_.kill_tree();
  return lost(Outcome::kOutOfMemory, fmt::format("{}: the worker held {}, {} are allowed", op,
                                                 megabytes(held_bytes), megabytes(limit_bytes)));
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
  const PhaseEnd how = unexpected_end(op, *end);
  return lost(how.outcome, how.reason);
}

PhaseEnd Client::unexpected_end(const std::string& op, const ProcessEnd& end) const {
  std::string tail = log_tail(settings_.log, kTailBytes);
  if (!tail.empty()) tail = fmt::format("; its last words ({}): {}", quoted(settings_.log), tail);
  if (!end.signalled) {
    return {Outcome::kCrashed,
            fmt::format("{}: the worker exited with code {}{}", op, end.code, tail)};
  }
  if (end.code == SIGKILL && cgroup_oom_kills() > oom_kills_at_start_) {
    return {Outcome::kOutOfMemory, fmt::format("{}: the kernel killed the worker for memory", op)};
  }
  return {Outcome::kCrashed, fmt::format("{}: the worker was ended by {} (signal {}){}", op,
                                         signal_name(end.code), end.code, tail)};
}

PhaseEnd Client::end_of(const Status& status) const {
  if (status.ok()) return {};
  if (death_) return *death_;
  if (status.code() == StatusCode::kCancelled) return {Outcome::kSkipped, status.message()};
  return {Outcome::kFailed, status.to_string()};
}

PhaseEnd Client::finish(const Status& status) {
  PhaseEnd end = end_of(status);
  if (!death_ && status.ok()) {
    end = close();
  } else if (!death_ && channel_.send(Json{{"op", "close"}}).ok()) {
    process_.wait(Clock::now() + settings_.close_grace);
  }
  process_.kill_tree();
  const std::optional<ProcessEnd> ended = process_.wait(std::nullopt);
  if (ended) peak_rss_bytes_ = ended->peak_rss_bytes;
  return end;
}

// The work is done: a user who interrupts now waits for a graceful end, but not for long.
PhaseEnd Client::close() {
  const std::string where = "in close";
  Status closed = send("close", Json::object());
  if (closed.ok())
    closed = receive(where, {.timeout = settings_.close_timeout, .tick = {}}).status();
  if (closed.code() == StatusCode::kCancelled) {
    settings_.stop = nullptr;
    closed = receive(where, {.timeout = settings_.close_grace, .tick = {}}).status();
  }
  if (death_) return *death_;
  if (!closed.ok()) return {Outcome::kFailed, fmt::format("{}: {}", where, closed.to_string())};
  const std::optional<ProcessEnd> end = process_.wait(Clock::now() + settings_.close_grace);
  if (!end)
    return {Outcome::kTimedOut, where + ": the worker closed its backend and did not leave"};
  return end->signalled || end->code != 0 ? unexpected_end(where, *end) : PhaseEnd{};
}

}  // namespace assay::worker
