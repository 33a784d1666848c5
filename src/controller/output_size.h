#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "controller/session.h"
#include "dataset/dataset.h"

namespace assay::controller {

struct OutputSizeRequest {
  CompiledModel model;
  const dataset::Dataset* dataset = nullptr;
  std::uint64_t samples = 0;  // the first so many may be used
  std::vector<std::optional<std::size_t>> batch_axes;
  std::int64_t batch_size = 1;
};

// Bytes that an output slot needs for a batch. Where the model leaves more than the batch open that
// is found by running one batch, so this takes a session of its own: the first call of the one that
// is measured has to be cold. With room for outputs that grow with the values.
Result<std::size_t> find_output_bytes(Session& session, const OutputSizeRequest& request);

}  // namespace assay::controller
