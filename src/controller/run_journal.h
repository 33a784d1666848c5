#pragma once

// What the journal keeps of a phase, and the way back. What comes from a file is not trusted.

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "controller/inference_pass.h"
#include "controller/phase.h"
#include "controller/steps.h"

namespace assay::controller {

Json compiled_journal_json(const Compiled& compiled, const PhaseRecord& record);

// kDataLoss when the entry is not one, or the artifact in `folder` is not the one compiled then.
Result<Compiled> compiled_from_journal(const Json& entry, const std::string& hardware_type,
                                       const std::filesystem::path& folder);

Json pass_journal_json(const PassResult& pass);
Result<PassResult> pass_from_journal(const Json& entry);

}  // namespace assay::controller
