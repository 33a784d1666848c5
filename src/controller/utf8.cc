#include "controller/utf8.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace assay::controller {
namespace {

void make_keys_utf8(Json& object) {
  Json renamed = Json::object();
  for (auto& [key, value] : object.items()) renamed[valid_utf8(key)] = std::move(value);
  object = std::move(renamed);
}

}  // namespace

void make_utf8(Json& json) {
  if (json.is_string()) {
    auto& text = json.get_ref<std::string&>();
    text = valid_utf8(text);
    return;
  }
  if (json.is_object()) {
    bool plain = true;
    for (const auto& member : json.items()) plain = plain && is_valid_utf8(member.key());
    if (!plain) make_keys_utf8(json);
  }
  if (!json.is_structured()) return;
  for (Json& member : json) make_utf8(member);
}

}  // namespace assay::controller
