#include "controller/utf8.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json_value.h"

namespace assay::controller {
namespace {

bool is_ascii(const std::string& text) {
  return text.find_first_not_of(
             "\t\n\r !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") == std::string::npos;
}

void make_keys_utf8(Json& object) {
  Json renamed = Json::object();
  for (auto& [key, value] : object.items()) renamed[utf8_text(key)] = std::move(value);
  object = std::move(renamed);
}

}  // namespace

// The JSON library knows what is UTF-8: it writes a replacement for what is not.
std::string utf8_text(std::string text) {
  if (is_ascii(text)) return text;
  return Json::parse(JsonValue(Json(std::move(text))).dump()).get<std::string>();
}

void make_utf8(Json& json) {
  if (json.is_string()) {
    auto& text = json.get_ref<std::string&>();
    text = utf8_text(std::move(text));
    return;
  }
  if (json.is_object()) {
    bool plain = true;
    for (const auto& member : json.items()) plain = plain && is_ascii(member.key());
    if (!plain) make_keys_utf8(json);
  }
  if (!json.is_structured()) return;
  for (Json& member : json) make_utf8(member);
}

}  // namespace assay::controller
