#pragma once

// The JSON value type used between rooms. Members keep their order, so that reports read as they
// were written. Include <nlohmann/json.hpp> in the .cc that touches members.

#include <nlohmann/json_fwd.hpp>

namespace assay {

using Json = nlohmann::ordered_json;

}  // namespace assay
