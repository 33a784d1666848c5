#include "base/utf8.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay {

std::string valid_utf8(std::string_view bytes) {
  // The JSON library knows what is well-formed, and every text of ours becomes JSON in the end.
  const std::string dumped =
      Json(std::string(bytes)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(dumped).get<std::string>();
}

bool is_valid_utf8(std::string_view bytes) { return valid_utf8(bytes) == bytes; }

}  // namespace assay
