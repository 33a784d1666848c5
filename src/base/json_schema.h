#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/json_file.h"

namespace assay {

// A JSON Schema (draft 7) that explains itself: each finding names file, line, key, what was found
// and what is accepted, with the nearest known key for an unknown one.
//
// One annotation of ours is understood: "x-accepted", the words for what is accepted where those
// drawn from the schema itself would not do.
class JsonSchema {
 public:
  // `text` is the schema; kInternal when it is not one (ours are part of the program).
  static Result<JsonSchema> compile(std::string_view text);

  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  // Every violation, in the order of the text; empty when the document is valid. Thread-safe.
  std::vector<Problem> check(const JsonFile& file) const;

 private:
  struct Compiled;
  explicit JsonSchema(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace assay
