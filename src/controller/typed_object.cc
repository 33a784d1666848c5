#include "controller/typed_object.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace assay::controller {
namespace {

constexpr std::size_t kShownBytes = 60;  // of a value that has the wrong type

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShownBytes) text = text.substr(0, kShownBytes) + "...";
  return text;
}

bool fits(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<std::uint64_t>() <=
              static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

bool TypedObject::has(const std::string& key) const {
  return json_->is_object() && json_->contains(key) && !(*json_)[key].is_null();
}

Result<const Json*> TypedObject::find(const std::string& key) const {
  if (!json_->is_object())
    return data_loss(fmt::format("{}: {} is no object", what_, shown(*json_)));
  const auto member = json_->find(key);
  if (member == json_->end()) return data_loss(fmt::format("{}: \"{}\" is missing", what_, key));
  return &*member;
}

Status TypedObject::wrong_type(const std::string& key, const Json& found,
                               const char* wanted) const {
  return data_loss(fmt::format("{}: \"{}\" is {}, accepted: {}", what_, key, shown(found), wanted));
}

Result<std::int64_t> TypedObject::integer(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!fits(*found)) return wrong_type(key, *found, "a whole number");
  return found->get<std::int64_t>();
}

Result<std::uint64_t> TypedObject::count(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (found->is_number_unsigned()) return found->get<std::uint64_t>();
  if (!found->is_number_integer() || found->get<std::int64_t>() < 0) {
    return wrong_type(key, *found, "a whole number of at least 0");
  }
  return static_cast<std::uint64_t>(found->get<std::int64_t>());
}

Result<double> TypedObject::number(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!found->is_number()) return wrong_type(key, *found, "a number");
  return found->get<double>();
}

Result<bool> TypedObject::flag(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!found->is_boolean()) return wrong_type(key, *found, "true or false");
  return found->get<bool>();
}

Result<std::string> TypedObject::text(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!found->is_string()) return wrong_type(key, *found, "text");
  return found->get<std::string>();
}

Result<std::vector<std::int64_t>> TypedObject::integers(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!found->is_array()) return wrong_type(key, *found, "a list of whole numbers");
  std::vector<std::int64_t> values;
  for (const Json& value : *found) {
    if (!fits(value)) return wrong_type(key, *found, "a list of whole numbers");
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

Result<std::vector<std::string>> TypedObject::texts(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!found->is_array()) return wrong_type(key, *found, "a list of texts");
  std::vector<std::string> values;
  for (const Json& value : *found) {
    if (!value.is_string()) return wrong_type(key, *found, "a list of texts");
    values.push_back(value.get<std::string>());
  }
  return values;
}

Result<std::vector<TypedObject>> TypedObject::list(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!found->is_array()) return wrong_type(key, *found, "a list");
  std::vector<TypedObject> members;
  members.reserve(found->size());
  for (std::size_t i = 0; i < found->size(); ++i) {
    members.emplace_back((*found)[i], fmt::format("{}, {}[{}]", what_, key, i));
  }
  return members;
}

Result<TypedObject> TypedObject::object(const std::string& key) const {
  ASSIGN_OR_RETURN(const Json* const found, find(key));
  if (!found->is_object()) return wrong_type(key, *found, "an object");
  return TypedObject(*found, fmt::format("{}, {}", what_, key));
}

Status guard_json(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("an answer has an unexpected form: {}", error.what()));
  }
}

}  // namespace assay::controller
