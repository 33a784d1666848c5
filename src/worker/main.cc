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

int main() {
  if (::fcntl(assay::worker::kWorkerChannelFd, F_GETFD) < 0) {
    fmt::print(stderr, "assay-worker is started by assay, with its channel as descriptor {}\n",
               assay::worker::kWorkerChannelFd);
    return 2;
  }
  // Nothing outlives the controller, not even a backend that hangs.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return assay::worker::serve(assay::worker::Channel(assay::worker::kWorkerChannelFd));
}
