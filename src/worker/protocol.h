#pragma once

namespace assay::worker {

// The controller and the worker are built together; a mixture of two builds is refused at "hello".
inline constexpr int kProtocolVersion = 1;

// Descriptor on which a worker finds its channel.
inline constexpr int kWorkerChannelFd = 3;

}  // namespace assay::worker
