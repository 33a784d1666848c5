#pragma once

#include "artifact.h"
#include "assay/backend.hpp"
#include "connection.h"

namespace kserve {

// Makes one inference, on a sample of `data` that is not evaluated, or on zeros, and settles what
// metadata cannot be trusted for: the transport, and, when the server declares none, the outputs.
// Bytes are tried first unless the options say otherwise. Throws what is against every transport
// that was tried.
void settle_by_trial(Connection& connection, const Json& model_info,
                     assay::backend::DataLoader& data, Artifact& artifact);

}  // namespace kserve
