#pragma once

// The JSON Schemas of schemas/, as part of the program.

#include <string_view>

#include "base/json_schema.h"

namespace assay::workload {

// The files' text. NOLINTBEGIN(readability-identifier-naming): named as the files
extern const std::string_view workload_schema_json;
extern const std::string_view model_info_schema_json;
extern const std::string_view interact_profile_schema_json;
extern const std::string_view answers_schema_json;
extern const std::string_view compile_result_schema_json;
// NOLINTEND(readability-identifier-naming)

// `file` held against one of the texts above; empty when it is valid. A schema of ours that does
// not compile is itself reported. Thread-safe; a schema is compiled once.
std::vector<Problem> check_schema(std::string_view schema_text, const JsonFile& file);

}  // namespace assay::workload
