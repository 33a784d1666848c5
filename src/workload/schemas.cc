#include "workload/schemas.h"

#include <map>
#include <mutex>
#include <utility>

namespace assay::workload {
namespace {

// Compiled schemas by the address of their text, which is a constant of the program.
const Result<JsonSchema>& compiled(std::string_view text) {
  static std::mutex mutex;
  static std::map<const char*, Result<JsonSchema>> schemas;
  const std::lock_guard lock(mutex);
  const auto found = schemas.find(text.data());
  if (found != schemas.end()) return found->second;
  return schemas.emplace(text.data(), JsonSchema::compile(text)).first->second;
}

}  // namespace

std::vector<Problem> check_schema(std::string_view schema_text, const JsonFile& file) {
  const Result<JsonSchema>& schema = compiled(schema_text);
  if (!schema.ok()) return {file.problem("", schema.status().message())};
  return schema->check(file);
}

}  // namespace assay::workload
