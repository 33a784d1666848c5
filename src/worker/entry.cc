#include "worker/entry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

#include "worker/channel.h"
#include "worker/protocol.h"
#include "worker/server.h"
#include "worker/stack_answer.h"

namespace {

// When memory runs out the kernel takes this process and its children, not the controller, which
// can say so. A process may always raise its own score.
void prefer_to_be_killed() {
  std::FILE* const score = std::fopen("/proc/self/oom_score_adj", "we");
  if (score == nullptr) return;
  fmt::print(score, "1000\n");
  (void)std::fclose(score);
}

// Away from the numbers that a backend closes in bulk or takes for its own, and not inherited by
// the programs that it starts. The old number where there are not that many.
int put_away(int fd) {
  constexpr int kHigh = 600;
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, kHigh);
  if (high >= 0) {
    ::close(fd);
    return high;
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int assay_worker_serve(int fd) {
  if (::fcntl(fd, F_GETFD) < 0) {
    fmt::print(stderr, "a worker is started by assay, with its channel as descriptor {}\n", fd);
    return 2;
  }
  // Nothing outlives the controller, not even a backend that hangs.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  prefer_to_be_killed();
  if (::fcntl(assay::worker::kWorkerStackFd, F_GETFD) >= 0) {
    assay::worker::answer_with_stacks(put_away(assay::worker::kWorkerStackFd));
  }
  return assay::worker::serve(assay::worker::Channel(put_away(fd)));
}
