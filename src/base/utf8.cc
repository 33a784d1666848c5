#include "base/utf8.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay {

std::string valid_utf8(std::string_view bytes) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(bytes.begin(), bytes.end(), is_ascii)) return std::string(bytes);
  // The JSON library knows what is well-formed, and every text of ours becomes JSON in the end.
  const std::string dumped =
      Json(std::string(bytes)).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(dumped).get<std::string>();
}

bool is_valid_utf8(std::string_view bytes) { return valid_utf8(bytes) == bytes; }

std::size_t character_count(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), starts_character));
}

}  // namespace assay
