#include "worker/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
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
#include <sstream>
#include <utility>

#include "base/file.h"

extern char** environ;  // NOLINT: POSIX's own name

namespace assay::worker {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kChannelFd = 3;
constexpr const char* kMarkerName = "ASSAY_WORKER_MARK";

std::string new_marker() {
  static std::atomic<std::uint64_t> count{0};
  return fmt::format("{}={}-{}-{}", kMarkerName, ::getpid(),
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
  posix_spawn_file_actions_adddup2(actions, request.channel_fd, kChannelFd);
  posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, request.log.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(actions, kChannelFd + 1);
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

bool carries_marker(const fs::path& process_folder, const std::string& marker) {
  std::ifstream file(process_folder / "environ", std::ios::binary);
  const std::string environment((std::istreambuf_iterator<char>(file)),
                                std::istreambuf_iterator<char>());
  return environment.find(marker + '\0') != std::string::npos || environment.ends_with(marker);
}

void kill_marked(const std::string& marker) {
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (pid != ::getpid() && carries_marker(it->path(), marker)) ::kill(pid, SIGKILL);
  }
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
  return Process(pid, marker);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), marker_(std::move(other.marker_)), end_(other.end_) {}

Process::~Process() {
  if (pid_ < 0) return;
  kill_tree();
  wait(std::nullopt);
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

void Process::kill_tree() {
  if (!end_) ::kill(pid_, SIGKILL);
  kill_marked(marker_);
}

ProcessUsage usage_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t close = text.rfind(')');
  if (close == std::string::npos) return {};
  std::istringstream fields(text.substr(close + 1));
  std::vector<std::string> values{std::istream_iterator<std::string>(fields), {}};
  // proc(5): fields counted from 1; after the command's ')' the first value here is field 3.
  constexpr std::size_t kUserTicks = 14 - 3;
  constexpr std::size_t kSystemTicks = 15 - 3;
  constexpr std::size_t kResidentPages = 24 - 3;
  if (values.size() <= kResidentPages) return {};
  const auto number = [&](std::size_t index) {
    return std::strtoll(values[index].c_str(), nullptr, 10);
  };
  ProcessUsage usage;
  usage.cpu_ns =
      (number(kUserTicks) + number(kSystemTicks)) * (1'000'000'000 / ::sysconf(_SC_CLK_TCK));
  usage.rss_bytes = number(kResidentPages) * ::sysconf(_SC_PAGESIZE);
  return usage;
}

std::string signal_name(int signal_number) {
  const char* name = ::sigabbrev_np(signal_number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal_number);
}

}  // namespace assay::worker
