#pragma once

#include <string_view>

namespace assay::host {

// The text of schemas/manifest.schema.json, as part of the program.
extern const std::string_view manifest_schema_json;

}  // namespace assay::host
