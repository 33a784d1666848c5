#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/model.h"
#include "workload/model_info.h"

namespace assay::workload {

// "" when the model can be given batches of `size`; else why not and what is accepted. `fixed`: as
// fixed_batch says.
std::string why_not_batch(const ModelInfo& info, std::optional<std::int64_t> fixed,
                          std::int64_t size);

// The batch sizes of a run that names none: what the model fixes, or 1 and a usual one.
std::vector<std::int64_t> usual_batch_sizes(const ModelInfo& info,
                                            std::optional<std::int64_t> fixed);

// `asked`, each once, in its order. kOutOfRange naming every size that the model cannot be given,
// or that there is none. For sizes that a backend chooses.
Result<std::vector<std::int64_t>> accepted_batch_sizes(const ModelInfo& info,
                                                       const std::optional<ModelFile>& file,
                                                       const std::vector<std::int64_t>& asked);

}  // namespace assay::workload
