#include "controller/python_child.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <utility>

#include "base/file.h"
#include "worker/process.h"

namespace assay::controller {
namespace {

constexpr std::chrono::milliseconds kTick{100};

// The lines that were appended to a log since the last look.
class LogFollower {
 public:
  LogFollower(const std::filesystem::path& log, std::function<void(const std::string&)> on_line)
      : file_(log), on_line_(std::move(on_line)) {
    file_.seekg(0, std::ios::end);
  }

  void look() {
    if (!on_line_) return;
    file_.clear();
    for (std::string piece; std::getline(file_, piece);) {
      line_ += piece;
      if (file_.eof()) return;  // the rest of it is still to come
      on_line_(std::exchange(line_, {}));
    }
  }

 private:
  std::ifstream file_;
  std::function<void(const std::string&)> on_line_;
  std::string line_;
};

bool stopped(const ChildRequest& request) { return request.stop != nullptr && *request.stop; }

}  // namespace

Status run_child(const ChildRequest& request) {
  {
    const std::ofstream made(request.log, std::ios::app);  // so that it can be followed at once
    if (!made) return unavailable("cannot write to " + quoted(request.log));
  }
  LogFollower follower(request.log, request.on_line);
  ASSIGN_OR_RETURN(worker::Process process,
                   worker::Process::start({.program = request.program,
                                           .arguments = request.arguments,
                                           .environment = request.environment,
                                           .log = request.log,
                                           .working_folder = request.working_folder}));
  std::optional<worker::ProcessEnd> end;
  while (!end) {
    end = process.wait(std::chrono::steady_clock::now() + kTick);
    follower.look();
    if (!end && stopped(request)) return cancelled("interrupted");  // the process goes with this
  }
  if (end->signalled) {
    return failed_precondition(
        fmt::format("{} was ended by {}", quoted(request.program), worker::signal_name(end->code)));
  }
  if (end->code == 0) return ok_status();
  return failed_precondition(
      fmt::format("{} exited with code {}", quoted(request.program), end->code));
}

}  // namespace assay::controller
