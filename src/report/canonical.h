#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace assay::report {

// Canonical text of a JSON value: two spaces of indent, members in their order, a value that fits
// into 100 columns on one line, lists of scalars filled line by line. Ends with a newline. Errors
// as serialise() in json.h.
Result<std::string> canonical_text(const Json& value);

}  // namespace assay::report
