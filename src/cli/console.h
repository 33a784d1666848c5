#pragma once

// What the subcommands that start workers share: Ctrl-C, the live console, standard output.

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "controller/phase.h"
#include "report/console.h"

namespace assay::cli {

// Set by the first Ctrl-C after catch_interrupts(); the second one ends the program at once.
const std::atomic<bool>& stop_flag();
void catch_interrupts();

// Text for standard output, which may be closed by now: what cannot be written is let go.
void say(const std::string& text);

// The exit code of a command that was refused, or interrupted.
int exit_code_of(const Status& status);

// Shows phases on the console.
class ConsoleObserver : public controller::RunObserver {
 public:
  explicit ConsoleObserver(report::ProgressConsole& console) : console_(&console) {}

  void waiting(const std::string& what) override;
  void phase_started(const std::string& name) override;
  void progress(std::uint64_t done, std::uint64_t total, const char* unit) override;
  void stage(const std::string& what) override;
  void phase_finished(const controller::PhaseRecord& record) override;

 private:
  report::ProgressConsole* console_;
  std::string stage_;  // what the backend said last in this phase
  std::uint64_t done_ = 0;
};

}  // namespace assay::cli
