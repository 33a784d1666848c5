#include "worker/stack_request.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/utf8.h"
#include "worker/stack_answer.h"
#include "worker/symbols.h"

namespace assay::worker {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLeastFd = 10;
constexpr std::size_t kMostThreads = 16;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of one thread's answer
constexpr std::chrono::milliseconds kLook{2};

// Threads, the first one first, which is where a single caller runs.
std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code error;
  const fs::path tasks = fmt::format("/proc/{}/task", pid);
  for (fs::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc()) {
      threads.push_back(thread);
    }
  }
  std::ranges::sort(threads);
  return threads;
}

// What /proc tells of one thread.
struct ThreadFacts {
  std::string name;
  char state = '?';
  std::uint64_t blocked = 0;
  std::uint64_t ignored = 0;
  std::uint64_t caught = 0;
};

ThreadFacts facts_of(pid_t pid, pid_t thread) {
  ThreadFacts facts;
  std::ifstream file(fmt::format("/proc/{}/task/{}/status", pid, thread));
  const auto mask = [](const std::string& text) {
    return std::strtoull(text.c_str(), nullptr, 16);
  };
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(":\t");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, colon);
    const std::string value = line.substr(colon + 2);
    if (key == "Name") facts.name = valid_utf8(value);
    if (key == "State" && !value.empty()) facts.state = value[0];
    if (key == "SigBlk") facts.blocked = mask(value);
    if (key == "SigIgn") facts.ignored = mask(value);
    if (key == "SigCgt") facts.caught = mask(value);
  }
  return facts;
}

std::string state_in_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "waiting";
    case 'D':
      return "waiting in the kernel, not to be interrupted";
    case 'T':
    case 't':
      return "stopped";
    default:
      return fmt::format("in state {}", state);
  }
}

// Why a thread would not answer, as far as that can be seen before it is asked; "" when it would.
std::string obstacle(const ThreadFacts& facts) {
  const std::uint64_t bit = std::uint64_t{1} << (stack_signal() - 1);
  if ((facts.ignored & bit) != 0) return "the backend ignores the signal that asks for it";
  if ((facts.caught & bit) == 0) return "nothing answers the signal that asks for it";
  if ((facts.blocked & bit) != 0) return "the thread blocks the signal that asks for it";
  return "";
}

std::string read_from(int fd, off_t begin) {
  std::string text(kMostBytes, '\0');
  const ssize_t count = ::pread(fd, text.data(), text.size(), begin);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

// What one thread wrote once it was asked, or nullopt when it did not end in time.
std::optional<std::string> answer_of(int fd, pid_t pid, pid_t thread, Clock::time_point deadline) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  if (::syscall(SYS_tgkill, pid, thread, stack_signal()) != 0) return std::nullopt;
  do {
    std::string text = read_from(fd, info.st_size);
    const std::size_t end = text.find(kStackEnd);
    if (end != std::string::npos) return text.substr(0, end);
    if (text.size() >= kMostBytes) return text;
    std::this_thread::sleep_for(kLook);
  } while (Clock::now() < deadline);
  return std::nullopt;
}

void add_lines(std::vector<std::string>& lines, const std::string& answer, Symbols& symbols) {
  std::istringstream text(answer);
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back("  " + valid_utf8(symbols.frame_in_words(line)));
  }
}

}  // namespace

Result<StackRequest> StackRequest::create() {
  const int made = ::memfd_create("assay-stack", MFD_CLOEXEC);
  if (made < 0) return errno_status(errno, "cannot make a file in memory");
  const int fd = ::fcntl(made, F_DUPFD_CLOEXEC, kLeastFd);
  const int error = errno;
  ::close(made);
  if (fd < 0) return errno_status(error, "cannot make a file in memory");
  // Every writer appends, whatever it has written before.
  ::fcntl(fd, F_SETFL, O_APPEND);
  return StackRequest(fd);
}

StackRequest::StackRequest(StackRequest&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

StackRequest::~StackRequest() {
  if (fd_ >= 0) ::close(fd_);
}

std::vector<std::string> StackRequest::ask(pid_t pid, std::chrono::milliseconds patience) const {
  const Clock::time_point deadline = Clock::now() + patience;
  std::vector<std::string> lines;
  Symbols symbols;
  const std::vector<pid_t> threads = threads_of(pid);
  for (std::size_t i = 0; i < std::min(threads.size(), kMostThreads); ++i) {
    const ThreadFacts facts = facts_of(pid, threads[i]);
    std::string head =
        fmt::format("thread {} ({}), {}", threads[i], facts.name, state_in_words(facts.state));
    const std::string why_not = obstacle(facts);
    const auto answer = why_not.empty() ? answer_of(fd_, pid, threads[i], deadline) : std::nullopt;
    if (answer) {
      lines.push_back(head + ":");
      add_lines(lines, *answer, symbols);
    } else {
      lines.push_back(head + ": no stack: " + (why_not.empty() ? "it did not answer" : why_not));
    }
  }
  if (threads.size() > kMostThreads) {
    lines.push_back(fmt::format("and {} threads more", threads.size() - kMostThreads));
  }
  return lines;
}

}  // namespace assay::worker
