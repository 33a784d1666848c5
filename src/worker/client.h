#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "worker/channel.h"
#include "worker/outcome.h"
#include "worker/process.h"

namespace assay::worker {

struct ClientSettings {
  std::filesystem::path program;                   // the worker's executable
  std::filesystem::path log;                       // its standard output and error
  std::map<std::string, std::string> environment;  // as the backend's manifest asks
  // Resident, of the worker and its descendants together; watched. 0: none.
  std::int64_t memory_limit_bytes = 0;
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
  // Asks the worker to close its backend and leave; kills it when it does not. The end of a phase
  // whose work stopped with `status`: where that is ok, a backend that fails, crashes or hangs in
  // close is the phase's end. Peak memory follows. Once.
  PhaseEnd finish(const Status& status);
  std::int64_t peak_rss_bytes() const { return peak_rss_bytes_; }
  pid_t pid() const { return process_.pid(); }

 private:
  Client(ClientSettings settings, Channel channel, Process process);

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
  Status check_memory(const std::string& op);

  ClientSettings settings_;
  Channel channel_;
  Process process_;
  std::function<Json(const Json&)> on_event_;
  std::optional<PhaseEnd> death_;
  std::int64_t peak_rss_bytes_ = 0;
  std::int64_t oom_kills_at_start_ = 0;
  std::chrono::steady_clock::time_point next_look_;  // at what is not looked at for every message
};

}  // namespace assay::worker
