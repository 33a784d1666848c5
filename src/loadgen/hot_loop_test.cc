// Proof that the measured loop allocates nothing, locks nothing and makes no system call but the
// clock.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <mutex>

#include "base/testing.h"
#include "loadgen/closed_loop.h"
#include "loadgen/harness.h"
#include "loadgen/hot_loop_test_support.h"

namespace assay::loadgen {
namespace {

using ::assay::testing::IsOk;
using testing::CountingTarget;
using testing::Pages;
using testing::run_watched;

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

class SystemCallTarget : public Target {
 public:
  Status issue(std::uint32_t, std::uint64_t query) override {
    if (query == 3) syscall(__NR_getppid);
    return {};
  }
};

TEST(HotLoop, MakesNoSystemCallButTheClock) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers make system calls of their own";
  NullTarget target;
  const int status = run_watched(target);
  if (WIFEXITED(status) && WEXITSTATUS(status) == testing::kNoSeccomp)
    GTEST_SKIP() << "no seccomp here";
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(HotLoop, ASystemCallWouldBeSeen) {
  if (ASSAY_SANITIZED) GTEST_SKIP() << "the sanitizers make system calls of their own";
  SystemCallTarget target;
  const int status = run_watched(target);
  if (WIFEXITED(status) && WEXITSTATUS(status) == testing::kNoSeccomp)
    GTEST_SKIP() << "no seccomp here";
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

}  // namespace
}  // namespace assay::loadgen
