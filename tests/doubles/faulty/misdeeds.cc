#include "misdeeds.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cfenv>
#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "assay/backend.hpp"

namespace faulty {
namespace {

constexpr const char* kNoText = "\xC3\xA4\xFF\xFE no text";

// ---- ends of the process

void segfault() {
  // Through a volatile pointer, so that no compiler reasons it away.
  volatile std::uintptr_t nowhere = 8;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

int deeper(int level) {
  std::array<volatile char, 4096> room;
  room[static_cast<std::size_t>(level) % room.size()] = 1;
  return level < 0 ? 0 : deeper(level + 1) + room[0];
}

void divide_by_zero() { ::raise(SIGFPE); }

[[noreturn]] void mumble() {
  for (int i = 0; i < 200; ++i) std::fputs("\xC3\xA4\xFF", stderr);
  std::abort();
}

// ---- what never ends

[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

[[noreturn]] void spin() {
  for (volatile std::uint64_t count = 0;;) count = count + 1;
}

void ignore_all_signals() {
  for (int number = 1; number <= SIGRTMAX; ++number) ::signal(number, SIG_IGN);
}

void block_all_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

[[noreturn]] void hang_deaf() {
  ignore_all_signals();
  hang();
}

[[noreturn]] void hang_blocked() {
  block_all_signals();
  hang();
}

// ---- memory, and bytes

[[noreturn]] void eat_memory() {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  for (std::vector<char*> pieces;;) {
    pieces.push_back(static_cast<char*>(std::malloc(kPiece)));
    if (pieces.back() == nullptr) throw std::bad_alloc();
    std::memset(pieces.back(), 1, kPiece);
  }
}

// The process that holds the backend stays small; one that it starts does not.
[[noreturn]] void child_eats_memory() {
  if (::fork() == 0) eat_memory();
  hang();
}

void print_bytes(std::uint64_t count) {
  const std::string line = std::string(1023, 'x') + '\n';
  const std::string block = [&] {
    std::string text;
    for (int i = 0; i < 256; ++i) text += line;
    return text;
  }();
  for (std::uint64_t printed = 0; printed < count; printed += block.size()) {
    const int fd = (printed / block.size()) % 2 == 0 ? STDOUT_FILENO : STDERR_FILENO;
    if (::write(fd, block.data(), block.size()) < 0) return;
  }
}

void flood() { print_bytes(std::uint64_t{300} << 20); }

[[noreturn]] void flood_for_ever() {
  for (;;) flood();
}

// ---- processes

// A process that is nobody's child, in a session of its own, with an empty environment.
void leave_daemon() {
  const pid_t child = ::fork();
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (child != 0) return;
  if (::setsid() < 0 || ::fork() != 0) ::_exit(0);
  std::fprintf(stderr, "daemon %d\n", ::getpid());
  char* const arguments[] = {const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
  char* const nothing[] = {nullptr};
  ::execve("/bin/sleep", arguments, nothing);
  ::_exit(1);
}

// Plain children, deaf ones and ones that are a daemon's, at once.
void leave_children() {
  for (int i = 0; i < 3; ++i) {
    if (::fork() != 0) continue;
    std::fprintf(stderr, "child %d\n", ::getpid());
    if (i == 1) ignore_all_signals();
    if (i == 2) ::setsid();
    hang();
  }
  leave_daemon();
}

// They hold what this process had open, its channel among it.
[[noreturn]] void leave_children_and_end() {
  leave_children();
  std::abort();
}

// ---- what belongs to the host

void close_descriptors() {
  for (int fd = 3; fd < 256; ++fd) ::close(fd);
}

// What is no message, into whatever is open.
void babble() {
  const std::string bytes(512, '\x7F');
  for (int fd = 3; fd < 256; ++fd) (void)!::write(fd, bytes.data(), bytes.size());
}

void close_output() {
  ::close(STDIN_FILENO);
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
}

void nothing_at_all(int /*number*/) {}

void install_handlers() {
  for (const int number : {SIGSEGV, SIGBUS, SIGTERM, SIGINT, SIGALRM, SIGABRT, SIGCHLD, SIGPIPE}) {
    ::signal(number, nothing_at_all);
  }
  ::alarm(1);
}

// As often as it likes: the library, and the program itself.
void close_libraries() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<void*>(&close_libraries), &self) == 0) return;
  void* const mine = ::dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  for (int i = 0; mine != nullptr && i < 8; ++i) {
    if (::dlclose(mine) != 0) break;
  }
  void* const program = ::dlopen(nullptr, RTLD_NOW);
  for (int i = 0; program != nullptr && i < 2; ++i) ::dlclose(program);
}

void change_process() {
  (void)!::chdir("/");
  ::umask(0077);
  ::clearenv();
  std::setlocale(LC_ALL, "C.UTF-8");
  (void)!::nice(19);
  cpu_set_t one;
  CPU_ZERO(&one);
  const int here = ::sched_getcpu();
  CPU_SET(static_cast<unsigned>(here < 0 ? 0 : here), &one);
  ::sched_setaffinity(0, sizeof one, &one);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  const rlimit few{64, 64};
  ::setrlimit(RLIMIT_NOFILE, &few);
}

void change_rounding() { std::fesetround(FE_UPWARD); }

// Two names of shared memory, of either kind, that nobody takes back.
void leave_shared_memory() {
  const std::string name = "/assay_litter_" + std::to_string(::getpid());
  const int fd = ::shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  constexpr std::size_t kBytes = 4096;
  if (fd < 0 || ::ftruncate(fd, kBytes) != 0) std::abort();
  if (::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) std::abort();
  ::close(fd);
  (void)::shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
}

// Where it is, where temporary files go, and in shared memory.
void litter() {
  leave_shared_memory();
  std::ofstream("left_in_working_folder.txt") << "litter\n";
  const std::string temporary = environment("TMPDIR");
  std::ofstream((temporary.empty() ? "/tmp" : temporary) + "/left_in_temporary_folder.txt")
      << "litter\n";
}

// ---- words

[[noreturn]] void throw_no_text() { throw std::runtime_error(kNoText); }
[[noreturn]] void throw_int() { throw 42; }  // NOLINT: what a vendor may do
[[noreturn]] void throw_text() { throw std::runtime_error("thrown on demand"); }
[[noreturn]] void throw_long() { throw std::runtime_error(std::string(std::size_t{8} << 20, 'x')); }
[[noreturn]] void fail() { throw assay::backend::Error(ASSAY_UNAVAILABLE, "failed on demand"); }

[[noreturn]] void cancel() { throw assay::backend::Error(ASSAY_CANCELLED, "cancelled by nobody"); }

using Deed = std::pair<std::string_view, void (*)()>;
constexpr Deed kDeeds[] = {
    {"throw", throw_text},
    {"throw_int", throw_int},
    {"throw_no_text", throw_no_text},
    {"throw_long", throw_long},
    {"error", fail},
    {"cancel", cancel},
    {"abort", [] { std::abort(); }},
    {"terminate", [] { std::terminate(); }},
    {"segfault", segfault},
    {"stack_overflow", [] { (void)deeper(0); }},
    {"fpe", divide_by_zero},
    {"kill_self", [] { ::kill(::getpid(), SIGKILL); }},
    {"exit0", [] { std::exit(0); }},
    {"exit3", [] { std::exit(3); }},
    {"leave0", [] { ::_exit(0); }},
    {"leave3", [] { ::_exit(3); }},
    {"mumble", mumble},
    {"hang", hang},
    {"spin", spin},
    {"hang_deaf", hang_deaf},
    {"hang_blocked", hang_blocked},
    {"eat_memory", eat_memory},
    {"child_eats_memory", child_eats_memory},
    {"flood", flood},
    {"flood_for_ever", flood_for_ever},
    {"daemon", leave_daemon},
    {"children", leave_children},
    {"children_and_end", leave_children_and_end},
    {"close_fds", close_descriptors},
    {"close_output", close_output},
    {"babble", babble},
    {"handlers", install_handlers},
    {"deaf", ignore_all_signals},
    {"block_signals", block_all_signals},
    {"dlclose", close_libraries},
    {"change_process", change_process},
    {"change_rounding", change_rounding},
    {"litter", litter},
    {"slow", slow},
};

}  // namespace

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void commit(std::string_view misdeed) {
  for (const auto& [name, deed] : kDeeds) {
    if (name == misdeed) return deed();
  }
}

std::string misspoken(std::string_view misdeed, std::string text) {
  constexpr std::size_t kDeep = 1'000'000;
  constexpr std::size_t kHuge = std::size_t{80} << 20;  // more than a message may have
  if (misdeed == "bad_json") return R"({"never": ["closed")";
  if (misdeed == "bad_text") return R"({"name": ")" + std::string(kNoText) + R"("})";
  if (misdeed == "deep_json") return std::string(kDeep, '[') + std::string(kDeep, ']');
  if (misdeed == "huge_text") return '"' + std::string(kHuge, 'x') + '"';
  return text;
}

void slow() {
  const std::string ms = environment("ASSAY_FAULT_MS");
  std::this_thread::sleep_for(std::chrono::milliseconds(ms.empty() ? 50 : std::stoi(ms)));
}

}  // namespace faulty
