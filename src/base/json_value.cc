#include "base/json_value.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace assay {
namespace {

const Json& null_json() {
  static const Json null;
  return null;
}

}  // namespace

JsonValue::JsonValue() = default;
JsonValue::JsonValue(const Json& value) : value_(std::make_unique<Json>(value)) {}
JsonValue::JsonValue(const JsonValue& other)
    : value_(other.value_ ? std::make_unique<Json>(*other.value_) : nullptr) {}
JsonValue::JsonValue(JsonValue&& other) noexcept = default;
JsonValue& JsonValue::operator=(const JsonValue& other) {
  if (this != &other) *this = JsonValue(other);
  return *this;
}
JsonValue& JsonValue::operator=(JsonValue&& other) noexcept = default;
JsonValue::~JsonValue() = default;

const Json& JsonValue::get() const { return value_ ? *value_ : null_json(); }

Json& JsonValue::mutable_value() {
  if (!value_) value_ = std::make_unique<Json>();
  return *value_;
}

bool JsonValue::is_null() const { return get().is_null(); }

std::string JsonValue::dump() const {
  return get().dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool operator==(const JsonValue& a, const JsonValue& b) { return a.get() == b.get(); }

}  // namespace assay
