// Proof that the measured loop allocates nothing, locks nothing and makes no system call but the
// clock. This program replaces malloc and the mutex functions by counting ones, so it is apart from
// the other tests; the system calls are watched by the kernel, through a seccomp filter that kills.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/testing.h"
#include "loadgen/client_loop.h"
#include "loadgen/closed_loop.h"
#include "loadgen/harness.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_SANITIZED 1
#else
#define ASSAY_SANITIZED 0
#endif

namespace {

// Calls that this thread made. Constant-initialised: malloc runs before any constructor.
constinit thread_local std::uint64_t allocations = 0;
constinit thread_local std::uint64_t locks = 0;

}  // namespace

#if !ASSAY_SANITIZED
// glibc's own names behind malloc, which exist so that it can be replaced.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void __libc_free(void* memory);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

[[gnu::visibility("default")]] void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
[[gnu::visibility("default")]] void free(void* memory) {
  ++allocations;
  __libc_free(memory);
}
[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
[[gnu::visibility("default")]] void* realloc(void* memory, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
[[gnu::visibility("default")]] void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
[[gnu::visibility("default")]] int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto real = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  ++locks;
  return real(mutex);
}
}
#endif

namespace assay::loadgen {
namespace {

using ::assay::testing::IsOk;

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

// Notes what its thread had allocated and locked by the first and by the latest timed query.
class CountingTarget : public Target {
 public:
  explicit CountingTarget(std::uint32_t clients) : seen_(clients) {}

  Status issue(std::uint32_t client, std::uint64_t query) override {
    if (query >= kUntimedQueryBase) return {};
    Seen& seen = seen_[client];
    if (seen.queries++ == 0) seen.first = {allocations, locks};
    if (seen.queries == 2 && spoil_ != nullptr) spoil_();
    seen.last = {allocations, locks};
    return {};
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
  std::vector<Seen> seen_;
  void (*spoil_)() = nullptr;
};

ClosedLoopSettings settings(std::uint32_t clients) {
  ClosedLoopSettings settings;
  settings.clients = clients;
  settings.iterations = 20'000;
  settings.min_duration_ns = 0;
  settings.warmup = {.floor_calls = 1, .floor_ns = 0, .cap_ns = 5'000'000, .block_ns = 500'000};
  return settings;
}

TEST(HotLoop, NeitherAllocatesNorLocks) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers own malloc";
  // The second half of the samples goes to the histogram: both ways of keeping them are covered.
  const RecordShape shape{.clients = 2, .exact_capacity = 5'000};
  Pages pages(shape);
  Recorder recorder = Recorder::create(pages.span(), shape).value();
  CountingTarget target(2);
  ASSERT_THAT(run_closed_loop(target, settings(2), recorder, {}), IsOk());
  std::uint64_t queries = 0;
  for (const CountingTarget::Seen& seen : target.seen()) {
    queries += seen.queries;
    EXPECT_EQ(seen.first, seen.last);
  }
  EXPECT_GE(queries, 40'000U);
}

void allocate() { ::operator delete(::operator new(8)); }

void lock() {
  static std::mutex mutex;
  const std::scoped_lock held(mutex);
}

TEST(HotLoop, AnAllocationOrALockWouldBeSeen) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers own malloc";
  const RecordShape shape{.clients = 1, .exact_capacity = 5'000};
  Pages pages(shape);
  const auto spoiled_with = [&](void (*spoil)()) {
    Recorder recorder = Recorder::create(pages.span(), shape).value();
    CountingTarget target(1);
    target.spoil_with(spoil);
    EXPECT_THAT(run_closed_loop(target, settings(1), recorder, {}), IsOk());
    const CountingTarget::Seen& seen = target.seen()[0];
    return CountingTarget::Counts{seen.last.allocations - seen.first.allocations,
                                  seen.last.locks - seen.first.locks};
  };
  EXPECT_EQ(spoiled_with(allocate), (CountingTarget::Counts{.allocations = 2, .locks = 0}));
  EXPECT_EQ(spoiled_with(lock), (CountingTarget::Counts{.allocations = 0, .locks = 1}));
}

// From here on this thread lives only as long as it makes no system call but exit and, where the
// kernel offers no clock without one, the clock.
bool allow_only_clock_and_exit() {
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

class SystemCallTarget : public Target {
 public:
  Status issue(std::uint32_t, std::uint64_t query) override {
    if (query == 3) syscall(__NR_getppid);
    return {};
  }
};

constexpr int kNoSeccomp = 77;
constexpr std::uint64_t kWatchedQueries = 20'000;

// Runs the loop of one client in a child under the filter; its exit status as waitpid gives it.
int run_watched(Target& target) {
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

TEST(HotLoop, MakesNoSystemCallButTheClock) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers make system calls of their own";
  NullTarget target;
  const int status = run_watched(target);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSeccomp) GTEST_SKIP() << "no seccomp here";
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(HotLoop, ASystemCallWouldBeSeen) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers make system calls of their own";
  SystemCallTarget target;
  const int status = run_watched(target);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSeccomp) GTEST_SKIP() << "no seccomp here";
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

}  // namespace
}  // namespace assay::loadgen
