#include "base/json_parse.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace assay {
namespace {

// Brackets outside of strings; what is no JSON is the parser's to find.
bool nests_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (nests_too_deep(text)) {
    return invalid_argument(
        fmt::format("JSON that nests deeper than {} lists and objects", kMaxJsonDepth));
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    return invalid_argument(fmt::format("no JSON: {}", error.what()));
  }
}

}  // namespace assay
