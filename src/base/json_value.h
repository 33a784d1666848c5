#pragma once

#include <memory>
#include <string>

#include "base/json.h"

namespace assay {

// A JSON value that a struct can hold without its header including <nlohmann/json.hpp>. Null by
// default; copies are deep. Thread rule: as std::string.
class JsonValue {
 public:
  JsonValue();
  // NOLINTNEXTLINE(google-explicit-constructor): stands for the value it holds.
  JsonValue(const Json& value);
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  const Json& operator*() const { return get(); }
  const Json* operator->() const { return &get(); }
  const Json& get() const;
  Json& mutable_value();
  bool is_null() const;

  // Compact JSON text; bytes that are not UTF-8 are replaced.
  std::string dump() const;

  friend bool operator==(const JsonValue& a, const JsonValue& b);

 private:
  std::unique_ptr<Json> value_;  // null pointer: JSON null
};

}  // namespace assay
