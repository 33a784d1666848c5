// The worker's program: holds exactly one backend. Started by Assay, never by hand.

#include "worker/entry.h"
#include "worker/protocol.h"

int main() { return assay_worker_serve(assay::worker::kWorkerChannelFd); }
