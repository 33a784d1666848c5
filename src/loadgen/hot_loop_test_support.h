#pragma once

// What proves that a loop allocates nothing, locks nothing and makes no system call but the clock.
// A program that includes this (in one file) has malloc and the mutex functions replaced by
// counting ones, so it is apart from other tests; the system calls are watched by the kernel,
// through a seccomp filter that kills.

#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/sanitized.h"
#include "loadgen/client_loop.h"
#include "loadgen/record.h"
#include "loadgen/target.h"

namespace assay::loadgen::testing {

// Calls that this thread made. Constant-initialised: malloc runs before any constructor.
inline constinit thread_local std::uint64_t allocations = 0;
inline constinit thread_local std::uint64_t locks = 0;

}  // namespace assay::loadgen::testing

#if !ASSAY_SANITIZED
// glibc's own names behind malloc, which exist so that it can be replaced.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* memory);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) {
  ++assay::loadgen::testing::allocations;
  return __libc_malloc(bytes);
}
[[gnu::visibility("default")]] void free(void* memory) {
  ++assay::loadgen::testing::allocations;
  __libc_free(memory);
}
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) {
  ++assay::loadgen::testing::allocations;
  return __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* memory, std::size_t bytes) {
  ++assay::loadgen::testing::allocations;
  return __libc_realloc(memory, bytes);
}
[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++assay::loadgen::testing::allocations;
  return __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++assay::loadgen::testing::locks;
  return real(mutex);
}
}
#endif

namespace assay::loadgen::testing {

// A record on pages of its own, as in a run.
class Pages {
 public:
  explicit Pages(const RecordShape& shape)
      : bytes_(required_bytes(shape).value()),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(data_, bytes_); }

  std::span<std::byte> span() { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

// Notes what its thread had allocated and locked by the first and by the latest timed query, and
// hands every query on when it is given a target.
class CountingTarget : public Target {
 public:
  explicit CountingTarget(std::uint32_t clients, Target* inner = nullptr)
      : seen_(clients), inner_(inner) {}

  Status issue(std::uint32_t client, std::uint64_t query) override {
    if (query >= kUntimedQueryBase) return hand_on(client, query);
    Seen& seen = seen_[client];
    if (seen.queries++ == 0) seen.first = {allocations, locks};
    if (seen.queries == 2 && spoil_ != nullptr) spoil_();
    Status status = hand_on(client, query);
    seen.last = {allocations, locks};
    return status;
  }

  // What the second timed query does.
  void spoil_with(void (*spoil)()) { spoil_ = spoil; }

  struct Counts {
    std::uint64_t allocations = 0;
    std::uint64_t locks = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  struct alignas(kCacheLineBytes) Seen {
    std::uint64_t queries = 0;
    Counts first, last;
  };
  const std::vector<Seen>& seen() const { return seen_; }

 private:
  Status hand_on(std::uint32_t client, std::uint64_t query) {
    return inner_ == nullptr ? Status() : inner_->issue(client, query);
  }

  std::vector<Seen> seen_;
  Target* inner_;
  void (*spoil_)() = nullptr;
};

// From here on this thread lives only as long as it makes no system call but exit and, where the
// kernel offers no clock without one, the clock.
inline bool allow_only_clock_and_exit() {
  const auto allow = [](std::uint32_t number, std::uint8_t jump) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, jump, 0);
  };
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      allow(__NR_clock_gettime, 2),
      allow(__NR_exit_group, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

inline constexpr int kNoSeccomp = 77;
inline constexpr std::uint64_t kWatchedQueries = 20'000;

// Runs the loop of one client in a child under the filter; its exit status as waitpid gives it.
inline int run_watched(Target& target) {
  const RecordShape shape{.clients = 1, .exact_capacity = 5'000};
  Pages pages(shape);
  Recorder recorder = Recorder::create(pages.span(), shape).value();
  recorder.set_load({.max_duration_ns = 1'000'000'000});
  const LoopLimits limits{.queries = kWatchedQueries, .exact = true};
  LoopState state;
  const pid_t child = fork();
  if (child == 0) {
    // Pages of the parent are copied on the first write; that fault is no system call.
    if (!allow_only_clock_and_exit()) _exit(kNoSeccomp);
    run_client(target, 0, limits, state, recorder.client(0));
    syscall(__NR_exit_group, state.next_query.load() == kWatchedQueries ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace assay::loadgen::testing
