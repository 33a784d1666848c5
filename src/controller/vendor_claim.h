#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/result.h"

namespace assay::controller {

// What a backend's benchmark returned, claim by claim, each with its batch size:
// `loaded_batch_size` where it says none. kInternal for text that is neither a JSON object nor a
// list of such.
Result<std::vector<JsonValue>> claims_of(const std::string& text, std::int64_t loaded_batch_size);

// One claim as result.json has it, with the ratio to the row of `rows` at its batch size: null when
// there is none.
Json claim_json(const Json& claim, const Json& rows);

}  // namespace assay::controller
