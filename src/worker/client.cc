#include "worker/client.h"

#include <fcntl.h>
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
constexpr milliseconds kStackPatience{5000};  // for a worker that is stuck to say where
constexpr std::size_t kTailBytes = 400;       // of a log, in a reason

std::string megabytes(std::int64_t bytes) { return fmt::format("{} MB", bytes / 1'000'000); }

Status status_of_error(const Json& error) {
  if (!error.is_object()) return data_loss("the worker sent an error that is none");
  const Json code = error.value("code", Json());
  const Json message = error.value("message", Json());
  const int number = code.is_number_integer() ? code.get<int>() : 0;
  const bool known = number > 0 && number <= static_cast<int>(StatusCode::kDataLoss);
  return {known ? static_cast<StatusCode>(number) : StatusCode::kUnknown,
          message.is_string() ? message.get<std::string>() : "no message"};
}

}  // namespace

Client::Client(ClientSettings settings, Channel channel, Process process, StackRequest stacks,
               SharedNames names)
    : settings_(std::move(settings)),
      channel_(std::move(channel)),
      process_(std::move(process)),
      stacks_(std::move(stacks)),
      log_limit_(settings_.log),
      names_(std::move(names)),
      oom_kills_at_start_(cgroup_oom_kills()) {}

Result<Client> Client::spawn(ClientSettings settings) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return errno_status(errno, "cannot make a channel to the worker");
  }
  Channel ours(ends[0]);
  Channel theirs(ends[1]);
  ASSIGN_OR_RETURN(StackRequest stacks, StackRequest::create());
  SharedNames names;
  ASSIGN_OR_RETURN(Process process, Process::start({.program = settings.program,
                                                    .arguments = settings.arguments,
                                                    .environment = settings.environment,
                                                    .log = settings.log,
                                                    .channel_fd = theirs.fd(),
                                                    .stack_fd = stacks.fd(),
                                                    .working_folder = settings.working_folder}));
  theirs.close();
  return Client(std::move(settings), std::move(ours), std::move(process), std::move(stacks),
                std::move(names));
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

Status Client::begin_phase(const std::filesystem::path& log) {
  const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return errno_status(errno, "cannot open " + quoted(log));
  settings_.log = log;
  log_limit_ = LogLimit(log);
  const Result<Json> done =
      call("log_to", Json::object(), {.timeout = kStartTimeout, .passed_fd = fd, .tick = {}});
  ::close(fd);
  reset_peak_rss(process_.pid());
  cpu_ns_at_phase_ = cpu_ns_of(process_.tree());
  return done.status();
}

void Client::end_phase() {
  on_event_ = nullptr;
  log_limit_.enforce();
  peak_rss_bytes_ = peak_rss_of(process_.pid());
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
  method_.clear();
  while (true) {
    RETURN_IF_ERROR(check_watches(op, deadline, options));
    // Known before the look for messages, so that what it still said is read. Its channel does not
    // tell: a process that it left behind may hold the other end.
    const bool gone = process_.wait(Clock::now()).has_value();
    const auto tick_end = gone ? Clock::now() : Clock::now() + kTick;
    Result<Message> message = channel_.receive(deadline ? std::min(*deadline, tick_end) : tick_end);
    if (message.ok()) {
      if (message->fd >= 0) ::close(message->fd);
      const Json& body = message->body.get();
      if (body.value("event", Json()) == kCallingEvent) {
        const Json method = body.value("method", Json());
        if (method.is_string()) method_ = method.get<std::string>();
        continue;
      }
      if (body.contains("event")) {
        const Json reply = on_event_ ? on_event_(body) : Json::object();
        if (body.value("wants_reply", Json()) == true && !channel_.send(reply).ok())
          return collect_end(op);
        continue;
      }
      if (body.contains("error")) return status_of_error(body["error"]);
      return body;
    }
    if (message.status().code() == StatusCode::kUnavailable) return collect_end(op);
    if (gone && message.status().code() == StatusCode::kDeadlineExceeded) return collect_end(op);
    if (message.status().code() != StatusCode::kDeadlineExceeded) {
      process_.kill_tree();
      return lost(Outcome::kFailed, fmt::format("{}: {}", where(op), message.status().message()));
    }
  }
}

Status Client::check_watches(const std::string& op, std::optional<Clock::time_point> deadline,
                             const CallOptions& options) {
  if (interrupted()) return cancelled(fmt::format("interrupted during {}", op));
  const Clock::time_point now = Clock::now();
  if (deadline && now >= *deadline) {
    return stuck(fmt::format("{} took longer than {} s", where(op),
                             static_cast<double>(options.timeout->count()) / 1000));
  }
  if (now < next_look_) return ok_status();
  next_look_ = now + kTick;
  if (options.tick) options.tick();
  log_limit_.enforce();
  const std::vector<pid_t> tree = process_.tree();
  names_.look(tree);
  RETURN_IF_ERROR(check_cpu_time(op, tree));
  return check_memory(op, tree);
}

std::string Client::where(const std::string& op) const {
  return method_.empty() || method_ == op ? op : fmt::format("{}, in {}", op, method_);
}

// Where its threads are is asked before they go.
Status Client::stuck(const std::string& reason) {
  std::vector<std::string> stack = stacks_.ask(process_.pid(), kStackPatience);
  process_.kill_tree();
  Status status = lost(Outcome::kTimedOut, reason);
  death_->stack = std::move(stack);
  return status;
}

Status Client::check_cpu_time(const std::string& op, const std::vector<pid_t>& tree) {
  if (settings_.cpu_limit_ns <= 0) return ok_status();
  const std::int64_t used_ns = cpu_ns_of(tree) - cpu_ns_at_phase_;
  if (used_ns <= settings_.cpu_limit_ns) return ok_status();
  return stuck(fmt::format("{}: the worker used {:.1f} s of CPU time, {:g} s are allowed",
                           where(op), static_cast<double>(used_ns) / 1e9,
                           static_cast<double>(settings_.cpu_limit_ns) / 1e9));
}

Status Client::check_memory(const std::string& op, const std::vector<pid_t>& tree) {
  const std::int64_t limit_bytes = settings_.memory_limit_bytes;
  if (limit_bytes <= 0) return ok_status();
  const std::int64_t held_bytes = resident_bytes_of(tree, limit_bytes);
  if (held_bytes <= limit_bytes) return ok_status();
  process_.kill_tree();
  return lost(Outcome::kOutOfMemory,
              fmt::format("{}: the worker held {}, {} are allowed", where(op),
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
    return lost(Outcome::kCrashed, fmt::format("{}: the worker closed its channel", where(op)));
  }
  const PhaseEnd how = unexpected_end(op, *end);
  return lost(how.outcome, how.reason);
}

PhaseEnd Client::unexpected_end(const std::string& op, const ProcessEnd& end) const {
  std::string tail = log_tail(settings_.log, kTailBytes);
  if (!tail.empty()) tail = fmt::format("; its last words ({}): {}", quoted(settings_.log), tail);
  if (!end.signalled) {
    return {Outcome::kCrashed,
            fmt::format("{}: the worker exited with code {}{}", where(op), end.code, tail)};
  }
  if (end.code == SIGKILL && cgroup_oom_kills() > oom_kills_at_start_) {
    return {Outcome::kOutOfMemory,
            fmt::format("{}: the kernel killed the worker for memory", where(op))};
  }
  return {Outcome::kCrashed, fmt::format("{}: the worker was ended by {} (signal {}){}", where(op),
                                         signal_name(end.code), end.code, tail)};
}

PhaseEnd Client::end_of(const Status& status) const {
  if (status.ok()) return {};
  if (death_) return *death_;
  // A backend may call its own failure that, which does not make it the user's wish.
  if (status.code() == StatusCode::kCancelled && interrupted()) {
    return {Outcome::kSkipped, status.message()};
  }
  return {Outcome::kFailed, status.to_string()};
}

PhaseEnd Client::finish(const Status& status) {
  PhaseEnd end = end_of(status);
  if (!death_) names_.look(process_.tree());
  if (!death_ && status.ok()) {
    end = close();
  } else if (!death_ && channel_.send(Json{{"op", "close"}}).ok()) {
    channel_.end_sending();
    process_.wait(Clock::now() + settings_.close_grace);
  }
  process_.kill_tree();
  log_limit_.enforce();
  const std::optional<ProcessEnd> ended = process_.wait(std::nullopt);
  if (ended) peak_rss_bytes_ = ended->peak_rss_bytes;
  left_names_ = names_.clear();
  return end;
}

// The work is done: a user who interrupts now waits for a graceful end, but not for long.
PhaseEnd Client::close() {
  const std::string where = "in close";
  Status closed = send("close", Json::object());
  if (closed.ok())
    closed = receive(where, {.timeout = settings_.close_timeout, .tick = {}}).status();
  if (closed.code() == StatusCode::kCancelled && interrupted()) {
    settings_.stop = nullptr;
    closed = receive(where, {.timeout = settings_.close_grace, .tick = {}}).status();
  }
  if (death_) return *death_;
  names_.look(process_.tree());
  channel_.end_sending();
  if (!closed.ok()) return {Outcome::kFailed, fmt::format("{}: {}", where, closed.to_string())};
  const std::optional<ProcessEnd> end = process_.wait(Clock::now() + settings_.close_grace);
  if (!end)
    return {Outcome::kTimedOut, where + ": the worker closed its backend and did not leave"};
  return end->signalled || end->code != 0 ? unexpected_end(where, *end) : PhaseEnd{};
}

}  // namespace assay::worker
