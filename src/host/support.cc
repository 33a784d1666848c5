#include "host/support.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_file.h"

namespace assay::host {
namespace {

template <typename T, typename Value>
bool takes(const std::optional<std::vector<T>>& declared, const Value& value) {
  return !declared || std::ranges::find(*declared, value) != declared->end();
}

// Of a manifest that the schema accepts.
Support support_from_json(const Json& manifest) {
  Support support;
  if (manifest.contains("model_formats")) {
    support.model_formats = manifest.at("model_formats").get<std::vector<std::string>>();
  }
  if (manifest.contains("dtypes")) {
    support.dtypes.emplace();
    for (const Json& name : manifest.at("dtypes")) {
      const Result<DType> dtype = parse_dtype(name.get<std::string>());
      if (dtype.ok()) support.dtypes->push_back(*dtype);
    }
  }
  if (manifest.contains("ranks")) {
    support.ranks = manifest.at("ranks").get<std::vector<std::int64_t>>();
  }
  support.dynamic_batch = manifest.value("dynamic_batch", true);
  support.empty_tensors = manifest.value("empty_tensors", true);
  return support;
}

}  // namespace

bool Support::takes_format(std::string_view format) const { return takes(model_formats, format); }
bool Support::takes_dtype(DType dtype) const { return takes(dtypes, dtype); }
bool Support::takes_rank(std::int64_t rank) const { return takes(ranks, rank); }

Result<Support> read_support(const std::filesystem::path& folder) {
  const Result<JsonFile> file = JsonFile::read(folder / "manifest.json");
  if (!file.ok() && file.status().code() == StatusCode::kNotFound) return Support();
  RETURN_IF_ERROR(file.status());
  try {
    return support_from_json(file->value());
  } catch (const Json::exception& error) {
    return invalid_argument(fmt::format("{}: {}", file->name(), error.what()));
  }
}

}  // namespace assay::host
