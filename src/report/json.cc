#include "report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/json_parse.h"
#include "base/json_schema.h"
#include "report/canonical.h"
#include "report/embedded.h"
#include "report/format.h"

namespace assay::report {
namespace {

constexpr std::uint64_t kLargestResultBytes = 256 * 1024 * 1024;

const Result<JsonSchema>& schema() {
  static const Result<JsonSchema> compiled = JsonSchema::compile(embedded::result_schema_json);
  return compiled;
}

}  // namespace

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Result<std::string> serialise(const Json& value) { return canonical_text(value); }

Status validate_result(const Json& result, std::string_view name) {
  // First: a number that is not finite would read as null below.
  if (const auto text = canonical_text(result); !text.ok()) {
    return text.status().with_context(name);
  }
  RETURN_IF_ERROR(schema().ok() ? ok_status() : schema().status());
  return to_status((*schema()).check(JsonFile::from_value(result, std::string(name))));
}

Status write_result(const std::filesystem::path& path, const Json& result) {
  RETURN_IF_ERROR(validate_result(result, path.filename().native()));
  ASSIGN_OR_RETURN(const std::string text, serialise(result));
  return write_file_atomic(path, text);
}

Result<Json> read_result(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string text, read_file(path, kLargestResultBytes));
  Result<Json> parsed = parse_json(text);
  if (!parsed.ok()) return parsed.status().with_context(quoted(path));
  Json result = *std::move(parsed);
  if (const auto version = number_at(result, "schema_version");
      version && *version > kSchemaVersion) {
    return unimplemented(fmt::format("{} has schema version {}, this Assay reads up to {}",
                                     quoted(path), *version, kSchemaVersion));
  }
  RETURN_IF_ERROR(validate_result(result, path.native()));
  return result;
}

}  // namespace assay::report
