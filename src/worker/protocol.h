#pragma once

namespace assay::worker {

// The controller and the worker are built together; a mixture of two builds is refused at "hello".
inline constexpr int kProtocolVersion = 1;

// {"event": kCallingEvent, "method": name}: the worker is about to call that method of its backend.
inline constexpr const char* kCallingEvent = "calling";

// Descriptor on which a worker finds its channel.
inline constexpr int kWorkerChannelFd = 3;

// Descriptor of the file that a worker's threads write their stacks to.
inline constexpr int kWorkerStackFd = 4;

}  // namespace assay::worker
