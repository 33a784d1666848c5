#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "worker/channel.h"
#include "worker/log_limit.h"
#include "worker/outcome.h"
#include "worker/process.h"
#include "worker/shared_names.h"
#include "worker/stack_request.h"

namespace assay::worker {

struct ClientSettings {
  std::filesystem::path program;                   // the worker's executable
  std::vector<std::string> arguments;              // of it, without its name
  std::filesystem::path working_folder;            // empty: ours
  std::filesystem::path log;                       // its standard output and error
  std::map<std::string, std::string> environment;  // as the backend's manifest asks
  // Resident, of the worker and its descendants together; watched. 0: none.
  std::int64_t memory_limit_bytes = 0;
  // CPU time that they may use in one phase; watched. 0: any.
  std::int64_t cpu_limit_ns = 0;
  const std::atomic<bool>* stop = nullptr;         // set when the user interrupts; may be null
  std::chrono::milliseconds close_timeout{30000};  // for a backend to close when all went well
  std::chrono::milliseconds close_grace{2000};     // for any other end, before SIGKILL
};

// One call to the worker.
struct CallOptions {
  // Without a deadline the call may take as long as it likes.
  std::optional<std::chrono::milliseconds> timeout;
  int passed_fd = -1;
  // Called about ten times a second while waiting. May be empty.
  std::function<void()> tick;
};

// The controller's end of one worker process: starts it, calls it, watches it, ends it. A worker
// that dies, hangs or grows too large is killed with its descendants, and the client says which it
// was. One thread at a time.
class Client {
 public:
  // On failure `end` says how: kFailed when there is no worker, else as it was lost.
  static Result<Client> start(ClientSettings settings, PhaseEnd& end);
  Client(Client&&) = default;
  Client& operator=(Client&&) = delete;

  // Sends {"op": op, ...arguments} and waits for the answer. The Status is the backend's own error,
  // or kCancelled when the user interrupted, or kAborted when the worker is lost: then death() says
  // how. An {"event": ...} from the worker goes to on_event; its reply is sent back when the event
  // has "wants_reply". The user, the deadline and the memory are looked at before every message, so
  // that a worker that talks all the time is watched like a silent one.
  Result<Json> call(const std::string& op, Json arguments, const CallOptions& options);

  // For several requests in flight: send now, collect answers in order later.
  Status send(const std::string& op, Json arguments, int passed_fd = -1);
  Result<Json> receive(const std::string& op, const CallOptions& options);

  void set_on_event(std::function<Json(const Json&)> on_event) { on_event_ = std::move(on_event); }

  // How the worker was lost, if it was.
  const std::optional<PhaseEnd>& death() const { return death_; }
  // For a worker that several phases share. A new one begins: from here on the worker writes to
  // `log`, and its peak memory counts anew.
  Status begin_phase(const std::filesystem::path& log);
  // One that went well has ended, and the worker lives on: what peak_rss_bytes() is.
  void end_phase();

  // Asks the worker to close its backend and leave; kills it when it does not. The end of a phase
  // whose work stopped with `status`: where that is ok, a backend that fails, crashes or hangs in
  // close is the phase's end. Peak memory follows. Once.
  PhaseEnd finish(const Status& status);
  std::int64_t peak_rss_bytes() const { return peak_rss_bytes_; }
  // Of what the worker printed in this phase, because it was too much. After finish() or
  // end_phase().
  std::uint64_t dropped_log_bytes() const { return log_limit_.dropped_bytes(); }
  // Names of shared memory that the worker and what it started left. After finish().
  const LeftNames& left_names() const { return left_names_; }
  pid_t pid() const { return process_.pid(); }

 private:
  Client(ClientSettings settings, Channel channel, Process process, StackRequest stacks,
         SharedNames names);

  static Result<Client> spawn(ClientSettings settings);
  PhaseEnd end_of(const Status& status) const;
  PhaseEnd close();
  bool interrupted() const { return settings_.stop != nullptr && settings_.stop->load(); }
  Status lost(Outcome outcome, const std::string& reason);
  Status collect_end(const std::string& op);
  PhaseEnd unexpected_end(const std::string& op, const ProcessEnd& end) const;
  Status check_watches(const std::string& op,
                       std::optional<std::chrono::steady_clock::time_point> deadline,
                       const CallOptions& options);
  Status check_memory(const std::string& op, const std::vector<pid_t>& tree);
  Status check_cpu_time(const std::string& op, const std::vector<pid_t>& tree);
  std::string where(const std::string& op) const;
  Status stuck(const std::string& reason);

  ClientSettings settings_;
  Channel channel_;
  Process process_;
  StackRequest stacks_;
  LogLimit log_limit_;
  SharedNames names_;
  LeftNames left_names_;
  std::function<Json(const Json&)> on_event_;
  std::string method_;  // of the backend, which the operation in progress said that it calls
  std::optional<PhaseEnd> death_;
  std::int64_t peak_rss_bytes_ = 0;
  std::int64_t oom_kills_at_start_ = 0;
  std::int64_t cpu_ns_at_phase_ = 0;                 // that earlier phases used
  std::chrono::steady_clock::time_point next_look_;  // at what is not looked at for every message
};

}  // namespace assay::worker
