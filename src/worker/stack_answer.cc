#include "worker/stack_answer.h"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace assay::worker {
namespace {

constexpr int kMostFrames = 64;
constexpr int kOwnFrames = 2;  // the handler, and the kernel's way back from it
constexpr std::size_t kAlternateStackBytes = std::size_t{1} << 17;

// What a handler needs; nothing of it is made or freed while signals may come.
int answer_fd = -1;                  // NOLINT: a handler has no other way
struct sigaction previous_action{};  // NOLINT
alignas(16) std::array<char, kAlternateStackBytes> other_stack;  // NOLINT

void call_previous(int number, siginfo_t* info, void* context) {
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    if (previous_action.sa_sigaction != nullptr) {
      previous_action.sa_sigaction(number, info, context);
    }
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(number);
  }
}

void write_stack(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  std::array<void*, kMostFrames> frames{};
  const int count = ::backtrace(frames.data(), kMostFrames);
  if (count > kOwnFrames) {
    ::backtrace_symbols_fd(frames.data() + kOwnFrames, count - kOwnFrames, answer_fd);
  }
  if (::gettid() == ::getpid()) call_previous(number, info, context);
  (void)!::write(answer_fd, kStackEnd, sizeof kStackEnd - 1);
  errno = saved_errno;
}

// For a thread whose own stack may be used up. One that has another already keeps it.
void use_other_stack() {
  stack_t current{};
  if (::sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return;
  stack_t other{};
  other.ss_sp = other_stack.data();
  other.ss_size = other_stack.size();
  ::sigaltstack(&other, nullptr);
}

}  // namespace

int stack_signal() { return SIGRTMAX - 2; }

void answer_with_stacks(int fd) {
  answer_fd = fd;
  // The first call loads what it needs, which a handler may not.
  std::array<void*, 1> frame{};
  (void)::backtrace(frame.data(), 1);
  use_other_stack();
  struct sigaction action{};
  action.sa_sigaction = write_stack;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  ::sigaction(stack_signal(), &action, &previous_action);
}

}  // namespace assay::worker
