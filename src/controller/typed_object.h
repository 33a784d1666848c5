#pragma once

// Members of a JSON object that came from another process or from a file: what has the wrong type
// is an error that names the member, never an exception.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/result.h"

namespace assay::controller {

class TypedObject {
 public:
  // `what` begins every message: "the worker's answer to measure". `json` outlives this.
  TypedObject(const Json& json, std::string what) : json_(&json), what_(std::move(what)) {}

  // False for an absent or null member, and when this is not an object.
  bool has(const std::string& key) const;

  // kDataLoss when the member is absent or of another type. Whole numbers have no fraction and fit.
  Result<std::int64_t> integer(const std::string& key) const;
  Result<std::uint64_t> count(const std::string& key) const;
  Result<double> number(const std::string& key) const;
  Result<bool> flag(const std::string& key) const;
  Result<std::string> text(const std::string& key) const;
  Result<std::vector<std::int64_t>> integers(const std::string& key) const;
  Result<std::vector<std::string>> texts(const std::string& key) const;
  // The members of a list, each as an object; named "what, key[i]".
  Result<std::vector<TypedObject>> list(const std::string& key) const;
  Result<TypedObject> object(const std::string& key) const;

 private:
  Result<const Json*> find(const std::string& key) const;
  Status wrong_type(const std::string& key, const Json& found, const char* wanted) const;

  const Json* json_;
  std::string what_;
};

// What `work` returns; an exception of the JSON library in it becomes kDataLoss. For the whole of a
// phase: an answer of a form that nobody thought of costs that phase only.
Status guard_json(const std::function<Status()>& work);

}  // namespace assay::controller
