#pragma once

#include "base/result.h"
#include "worker/channel.h"

namespace assay::worker {

// The worker's side: answers the controller's calls on `channel` with the one backend that it is
// told to open, until it is told to close or the controller is gone. Returns the exit code.
int serve(Channel channel);

}  // namespace assay::worker
