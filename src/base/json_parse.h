#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace assay {

// Nothing that Assay reads nests deeper. What does would overflow the stack of whoever writes it
// out again or looks for something in it.
inline constexpr std::size_t kMaxJsonDepth = 200;

// JSON text that others wrote. kInvalidArgument for what is no JSON or no UTF-8, and for lists and
// objects that nest deeper than kMaxJsonDepth.
Result<Json> parse_json(std::string_view text);

}  // namespace assay
