#pragma once

// result.json: checked, completed, written. A result is a Json of the shape that
// schemas/result.schema.json describes; every other report is drawn from it.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace assay::report {

inline constexpr int kSchemaVersion = 1;

// Puts General Perf's keys ("Model", "Graph Compile", "Performance", ...) before the typed record
// that they are drawn from, replacing any that are there. Total: what the record lacks becomes null
// or an empty list. The keys are the rows of one table in legacy.cc. Does nothing to a value that
// is not an object.
void add_legacy_keys(Json& result);

// Ok when `result` satisfies the schema and holds no number that is not finite; else
// kInvalidArgument with every problem, one a line, each with its key. `name` stands for the file.
Status validate_result(const Json& result, std::string_view name = "result.json");

// The canonical text: members in the order they have, numbers unrounded, a value that fits a line
// on one line. kInvalidArgument naming the key of a number that is NaN or infinite, or of text
// that is not UTF-8: neither can be written as JSON. A figure that does not exist is null, and the
// keys beside it say why.
Result<std::string> serialise(const Json& value);

// validate_result, serialise, and written so that a reader sees the old file or the whole new one.
// Errors of those, and of write_file_atomic. General Perf's keys are the caller's to add.
Status write_result(const std::filesystem::path& path, const Json& result);

// Reads and validates. Errors as read_file; kInvalidArgument for JSON that is no result;
// kUnimplemented for the result of a newer Assay.
Result<Json> read_result(const std::filesystem::path& path);

// `value`, or null when it is NaN or infinite.
Json finite_or_null(double value);

}  // namespace assay::report
