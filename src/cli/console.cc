#include "cli/console.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>

#include "controller/run.h"
#include "worker/outcome.h"

namespace assay::cli {
namespace {

// Set by the first Ctrl-C; the second one ends the program at once.
std::atomic<bool> g_stop{false};  // NOLINT: a signal handler can reach nothing else

extern "C" void on_interrupt(int signal_number) {
  if (g_stop.exchange(true)) {
    ::signal(signal_number, SIG_DFL);
    ::raise(signal_number);
  }
}

}  // namespace

const std::atomic<bool>& stop_flag() { return g_stop; }

// A signal that was ignored when the program started (nohup, a job in the background) stays so.
void catch_interrupts() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before{};
    struct sigaction action{};
    action.sa_handler = on_interrupt;
    if (::sigaction(signal_number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal_number, &action, nullptr);
  }
  // Who reads the console may leave; the report is written all the same.
  ::signal(SIGPIPE, SIG_IGN);
}

void say(const std::string& text) {
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
  (void)std::fflush(stdout);
}

int exit_code_of(const Status& status) {
  if (status.code() == StatusCode::kInternal) return controller::kExitInternal;
  if (status.code() == StatusCode::kCancelled) return controller::kExitInterrupted;
  return controller::kExitBadInput;
}

void ConsoleObserver::waiting(const std::string& what) { console_->line(what); }

void ConsoleObserver::phase_started(const std::string& name) {
  console_->begin(name);
  stage_.clear();
  done_ = 0;
}

void ConsoleObserver::progress(std::uint64_t done, std::uint64_t total, const char* unit) {
  console_->set_total(total, unit);
  done_ = done;
  console_->update(done_, stage_);
}

void ConsoleObserver::stage(const std::string& what) {
  stage_ = what;
  console_->update(done_, stage_);
}

void ConsoleObserver::phase_finished(const controller::PhaseRecord& record) {
  std::string name = record.name;
  if (record.batch_size) name += fmt::format(" bs {}", *record.batch_size);
  std::string note = record.end.reason;
  if (record.cached) note = "cached";
  console_->end(name, worker::name_of(record.end.outcome), note);
}

}  // namespace assay::cli
