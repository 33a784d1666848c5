#pragma once

#include <string_view>

namespace assay::host {

// The text of schemas/manifest.schema.json, as part of the program.
// NOLINTNEXTLINE(readability-identifier-naming): named as the file
extern const std::string_view manifest_schema_json;

}  // namespace assay::host
