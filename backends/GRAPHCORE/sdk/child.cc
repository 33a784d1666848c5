#include "sdk/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "assay/backend.hpp"

namespace graphcore {
namespace {

using assay::backend::Error;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{20};
constexpr std::chrono::milliseconds kGrace{2000};

class SpawnActions {
 public:
  explicit SpawnActions(const std::string& log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
  }
  ~SpawnActions() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

pid_t start(const ChildRequest& request) {
  std::vector<char*> arguments;
  for (const std::string& argument : request.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // posix_spawn does not write
  }
  arguments.push_back(nullptr);
  const SpawnActions set_up(request.log);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, arguments[0], set_up.actions(), set_up.attributes(),
                                   arguments.data(), environ);
  if (error == 0) return pid;
  throw Error(ASSAY_UNAVAILABLE,
              "cannot start " + request.arguments[0] + ": " + std::strerror(error));
}

bool ended(pid_t pid, int& status) { return ::waitpid(pid, &status, WNOHANG) == pid; }

// The whole group, so that nothing that the child started lives on.
void stop(pid_t pid) {
  int status = 0;
  ::kill(-pid, SIGTERM);
  for (auto waited = kLook; waited < kGrace; waited += kLook) {
    if (ended(pid, status)) {
      ::kill(-pid, SIGKILL);
      return;
    }
    std::this_thread::sleep_for(kLook);
  }
  ::kill(-pid, SIGKILL);
  ::waitpid(pid, &status, 0);
}

std::int64_t size_of_file(const std::string& path) {
  struct stat facts{};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_size : 0;
}

ChildEnd end_of(int status) {
  if (WIFSIGNALED(status)) return {ChildEnd::Why::kSignalled, WTERMSIG(status)};
  return {ChildEnd::Why::kExited, WEXITSTATUS(status)};
}

}  // namespace

ChildEnd run_child(const ChildRequest& request) {
  const auto begin = Clock::now();
  const pid_t pid = start(request);
  int status = 0;
  while (!ended(pid, status)) {
    std::optional<ChildEnd::Why> why;
    if (request.deadline.count() > 0 && Clock::now() - begin > request.deadline) {
      why = ChildEnd::Why::kTimedOut;
    } else if (size_of_file(request.log) > request.log_limit_bytes) {
      why = ChildEnd::Why::kTooMuchLog;
    } else if (request.goes_on && !request.goes_on()) {
      why = ChildEnd::Why::kCancelled;
    }
    if (why) {
      stop(pid);
      return {*why, 0};
    }
    std::this_thread::sleep_for(kLook);
  }
  ::kill(-pid, SIGKILL);  // what it left behind
  return end_of(status);
}

std::string log_tail(const std::string& log, std::size_t bytes) {
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0));
  file.seekg(static_cast<std::streamoff>(size - std::min(size, bytes)));
  std::string text(std::min(size, bytes), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') c = ' ';
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace graphcore
