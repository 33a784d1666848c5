#include "controller/vendor_claim.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json_parse.h"

namespace assay::controller {
namespace {

std::optional<double> number_of(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

// What Assay itself measured at the batch size of a claim.
std::optional<double> own_rate(const Json& rows, const Json& batch_size) {
  for (const Json& row : rows) {
    if (row.value("batch_size", Json()) == batch_size) return number_of(row, "qps");
  }
  return std::nullopt;
}

bool is_list_of_texts(const Json& value) {
  if (!value.is_array()) return false;
  for (const Json& each : value) {
    if (!each.is_string()) return false;
  }
  return true;
}

Status malformed(const std::string& what, const Json& found, const char* accepted) {
  return internal_error(fmt::format("what benchmark returned: {}found {}, accepted: {}", what,
                                    found.dump(), accepted));
}

// `claim` with a batch size, its notes and what it was as a whole.
Result<JsonValue> completed(const Json& claim, std::int64_t loaded_batch_size) {
  if (!claim.is_object()) return malformed("", claim, "a JSON object or a list of such");
  Json batch_size = claim.value("batch_size", Json());
  Json notes = claim.value("notes", Json::array());
  if (!is_list_of_texts(notes)) return malformed("\"notes\": ", notes, "a list of texts");
  if (batch_size.is_null()) {
    batch_size = loaded_batch_size;
    notes.push_back(
        fmt::format("no batch size is given: the loaded one, {}, is taken", loaded_batch_size));
  }
  if (!batch_size.is_number_integer() || batch_size < 1) {
    return malformed("\"batch_size\": ", batch_size, "a whole number from 1");
  }
  Json complete = claim;
  if (!claim.contains("raw")) complete["raw"] = claim;
  complete["batch_size"] = batch_size;
  complete["notes"] = notes;
  return JsonValue(std::move(complete));
}

}  // namespace

Result<std::vector<JsonValue>> claims_of(const std::string& text, std::int64_t loaded_batch_size) {
  const Result<Json> parsed = parse_json(text);
  if (!parsed.ok()) return internal_error("what benchmark returned: " + parsed.status().message());
  const Json list = parsed->is_array() ? *parsed : Json::array({*parsed});
  std::vector<JsonValue> claims;
  for (const Json& claim : list) {
    ASSIGN_OR_RETURN(JsonValue complete, completed(claim, loaded_batch_size));
    claims.push_back(std::move(complete));
  }
  return claims;
}

Json claim_json(const Json& claim, const Json& rows) {
  const Json batch_size = claim.value("batch_size", Json());
  const Json latency = claim.value("latency_ms", Json());
  Json values = Json::object();
  const auto take = [&](const char* name, const std::optional<double>& value) {
    if (value) values[name] = *value;
  };
  const std::optional<double> qps = number_of(claim, "qps");
  take("qps", qps);
  take("latency_mean_ms", number_of(latency, "mean"));
  take("latency_p99_ms", number_of(latency, "p99"));
  const std::optional<double> own = own_rate(rows, batch_size);
  const bool comparable = qps && own && *own > 0;
  return {{"source", "benchmark()"},
          {"batch_size", batch_size},
          {"values", values},
          {"qps_ratio", comparable ? Json(*qps / *own) : Json()},
          {"raw", claim.value("raw", Json())},
          {"notes", claim.value("notes", Json::array())}};
}

}  // namespace assay::controller
