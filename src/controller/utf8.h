#pragma once

#include "base/json.h"

namespace assay::controller {

// Replaces what is not UTF-8 in every text and key of `json` by U+FFFD. Logs of workers, paths and
// messages of backends are bytes; JSON is not.
void make_utf8(Json& json);

}  // namespace assay::controller
