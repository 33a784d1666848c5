#pragma once

#include "base/json_file.h"
#include "workload/model_info.h"

namespace assay::workload {

// Adds a warning to `info` for what contradicts itself but may still be meant: a name that says
// another precision, token ids that are no whole numbers. `file` is where they stand.
void note_oddities(const JsonFile& file, ModelInfo& info);

}  // namespace assay::workload
