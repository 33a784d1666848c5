// The worker's program: holds exactly one backend. Started by Assay, never by hand.

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

#include "worker/channel.h"
#include "worker/protocol.h"
#include "worker/server.h"

namespace {

// When memory runs out the kernel takes this process and its children, not the controller, which
// can say so. A process may always raise its own score.
void prefer_to_be_killed() {
  std::FILE* const score = std::fopen("/proc/self/oom_score_adj", "we");
  if (score == nullptr) return;
  fmt::print(score, "1000\n");
  (void)std::fclose(score);
}

}  // namespace

int main() {
  if (::fcntl(assay::worker::kWorkerChannelFd, F_GETFD) < 0) {
    fmt::print(stderr, "assay-worker is started by assay, with its channel as descriptor {}\n",
               assay::worker::kWorkerChannelFd);
    return 2;
  }
  // Nothing outlives the controller, not even a backend that hangs.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  prefer_to_be_killed();
  return assay::worker::serve(assay::worker::Channel(assay::worker::kWorkerChannelFd));
}
