#include "worker/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "worker/process_tree.h"
#include "worker/protocol.h"

extern char** environ;  // NOLINT: POSIX's own name

namespace assay::worker {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kMarkerName = "ASSAY_WORKER_MARK";
constexpr std::chrono::seconds kKillPatience{5};
constexpr std::chrono::milliseconds kKillRound{100};

std::string new_marker() {
  static std::atomic<std::uint64_t> count{0};
  return fmt::format("{}={}-{}-{}.", kMarkerName, ::getpid(),
                     Clock::now().time_since_epoch().count(), count.fetch_add(1));
}

std::vector<std::string> child_environment(const SpawnRequest& request, const std::string& marker) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    if (name != kMarkerName && !request.environment.contains(name)) result.emplace_back(text);
  }
  for (const auto& [name, value] : request.environment)
    result.push_back(fmt::format("{}={}", name, value));
  result.push_back(marker);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// posix_spawn's two objects, destroyed with it.
struct SpawnSettings {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
};

void arrange(SpawnSettings& settings, const SpawnRequest& request) {
  auto* actions = &settings.actions;
  const bool channel = request.channel_fd >= 0;
  const bool stack = channel && request.stack_fd >= 0;
  if (channel) posix_spawn_file_actions_adddup2(actions, request.channel_fd, kWorkerChannelFd);
  if (stack) posix_spawn_file_actions_adddup2(actions, request.stack_fd, kWorkerStackFd);
  posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, request.log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
  const int first_unused = stack ? kWorkerStackFd + 1 : channel ? kWorkerStackFd : kWorkerChannelFd;
  posix_spawn_file_actions_addclosefrom_np(actions, first_unused);
  if (!request.working_folder.empty()) {
    posix_spawn_file_actions_addchdir_np(actions, request.working_folder.c_str());
  }
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setsigdefault(&settings.attributes, &defaults);
  posix_spawnattr_setflags(&settings.attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

// Waits for readability of a pidfd, which means that the process ended. True when it did.
bool wait_for_end(pid_t pid, Process::Deadline deadline) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;  // gone already, or a kernel without pidfd: waitpid decides
  pollfd wait{fd, POLLIN, 0};
  int ready = 0;
  do {
    int timeout_ms = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
      timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
    }
    ready = ::poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  ::close(fd);
  return ready != 0;
}

// Does the process's environment have a line that begins with `text`?
bool carries(const fs::path& process_folder, const std::string& text) {
  std::ifstream file(process_folder / "environ", std::ios::binary);
  const std::string environment((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  return environment.starts_with(text) || environment.find('\0' + text) != std::string::npos;
}

// Processes that carry the marker, whoever their parent is by now.
std::vector<pid_t> marked(const std::string& marker) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (pid != ::getpid() && carries(it->path(), marker)) found.push_back(pid);
  }
  return found;
}

// The workers that live: what else is our child and not of our session was adopted.
class LiveWorkers {
 public:
  static LiveWorkers& instance() {
    static LiveWorkers workers;
    return workers;
  }

  void add(pid_t pid) {
    const std::scoped_lock lock(mutex_);
    if (pids_.empty()) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    pids_.insert(pid);
  }
  void remove(pid_t pid) {
    const std::scoped_lock lock(mutex_);
    pids_.erase(pid);
    if (pids_.empty()) ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }
  bool contains(pid_t pid) const {
    const std::scoped_lock lock(mutex_);
    return pids_.contains(pid);
  }

 private:
  mutable std::mutex mutex_;
  std::set<pid_t> pids_;
};

// Our children that a worker left behind. One that bears another worker's marker is that one's;
// one that bears none is taken for this one's.
std::vector<pid_t> adopted(const std::string& marker) {
  std::vector<pid_t> found;
  for (const pid_t child : children_of(::getpid())) {
    if (LiveWorkers::instance().contains(child) || ::getsid(child) == ::getsid(0)) continue;
    const fs::path folder = fmt::format("/proc/{}", child);
    if (carries(folder, marker) || !carries(folder, kMarkerName)) found.push_back(child);
  }
  return found;
}

}  // namespace

Result<Process> Process::start(const SpawnRequest& request) {
  const std::string marker = new_marker();
  std::vector<std::string> arguments = {request.program.string()};
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  std::vector<std::string> environment = child_environment(request, marker);
  SpawnSettings settings;
  arrange(settings, request);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, request.program.c_str(), &settings.actions, &settings.attributes,
                    pointers(arguments).data(), pointers(environment).data());
  if (error != 0) return errno_status(error, "cannot start " + quoted(request.program));
  LiveWorkers::instance().add(pid);
  return Process(pid, marker);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), marker_(std::move(other.marker_)), end_(other.end_) {}

Process::~Process() {
  if (pid_ < 0) return;
  kill_tree();
  wait(std::nullopt);
  LiveWorkers::instance().remove(pid_);
}

std::optional<ProcessEnd> Process::wait(Deadline deadline) {
  if (end_) return end_;
  if (!wait_for_end(pid_, deadline)) return std::nullopt;
  int status = 0;
  rusage usage{};
  pid_t waited = -1;
  do {
    waited = ::wait4(pid_, &status, 0, &usage);
  } while (waited < 0 && errno == EINTR);
  ProcessEnd end;
  end.peak_rss_bytes = usage.ru_maxrss * 1024;
  end.signalled = waited == pid_ && WIFSIGNALED(status);
  if (waited == pid_) end.code = end.signalled ? WTERMSIG(status) : WEXITSTATUS(status);
  end_ = end;
  return end_;
}

std::vector<pid_t> Process::tree() const {
  std::vector<pid_t> pids = adopted(marker_);
  if (!end_) pids.push_back(pid_);
  add_descendants(pids);
  return pids;
}

void Process::kill_tree() {
  if (pid_ < 0) return;  // moved from: it has no marker, and no marker is in every environment
  const auto limit = Clock::now() + kKillPatience;
  do {
    std::vector<pid_t> left = tree();
    for (const pid_t pid : marked(marker_)) {
      if (std::find(left.begin(), left.end(), pid) == left.end()) left.push_back(pid);
    }
    if (left.empty()) return;
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    // The first to end may leave children to us, which the next round finds.
    const auto next_round = Clock::now() + kKillRound;
    for (const pid_t pid : left) {
      if (pid == pid_) {
        wait(next_round);
      } else if (wait_for_end(pid, next_round)) {
        ::waitpid(pid, nullptr, WNOHANG);  // reaps it when it is ours
      }
    }
  } while (Clock::now() < limit);
}

std::string signal_name(int signal_number) {
  const char* name = ::sigabbrev_np(signal_number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal_number);
}

}  // namespace assay::worker
