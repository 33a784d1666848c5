#pragma once

// JSON input files as people write them: comments (// and /* */), trailing commas and a UTF-8 byte
// order mark are accepted. Every key and value knows its line and column, so that a message can
// point at it.

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_value.h"
#include "base/result.h"

namespace assay {

// 1-based; columns count characters, not bytes. 0:0 means the file as a whole.
struct TextPosition {
  int line = 0;
  int column = 0;
  friend auto operator<=>(const TextPosition&, const TextPosition&) = default;
};

// One thing wrong with an input file.
struct Problem {
  std::string file;  // as the user named it
  TextPosition at;
  std::string key;  // dotted path, e.g. `input_shape.ids` or `batch_sizes[1]`; "" for the document
  std::string message;  // what was found and what is accepted
};

// `workloads/x.json:7:3: "client": unknown key (did you mean "clients"?)`
std::string to_string(const Problem& problem);

// All problems, one a line, in the order of the text. Ok when there is none; else kInvalidArgument.
Status to_status(std::vector<Problem> problems);

// A parsed file. Pointers are JSON pointers (RFC 6901): "" is the document, "/inputs/0" the first
// input; pointer_token() escapes a key for one.
class JsonFile {
 public:
  // Reads and parses. kNotFound and the other codes of read_file; kInvalidArgument with every
  // duplicate key, or with the place where the text stops being JSON, what was found there and what
  // is expected. At most 16 MiB and 64 levels.
  static Result<JsonFile> read(const std::filesystem::path& path);

  // The same for text that is in memory; `name` stands in messages for the file.
  static Result<JsonFile> parse(std::string_view text, std::string name);

  // A document without text, such as what a backend returned: positions are 0:0.
  static JsonFile from_value(const Json& value, std::string name);

  const std::string& name() const { return name_; }
  const Json& value() const { return value_.get(); }

  // True when the text holds nothing but white space and comments; value() is then null. Whether
  // that is accepted is the caller's choice.
  bool empty() const { return empty_; }

  // Where the value, or its key, stands; that of the nearest parent when there is none.
  TextPosition value_position(std::string_view pointer) const;
  TextPosition key_position(std::string_view pointer) const;

  // A problem with the value (or the key) at `pointer`.
  Problem problem(std::string_view pointer, std::string message) const;
  Problem key_problem(std::string_view pointer, std::string message) const;

 private:
  friend class JsonFileBuilder;
  struct Place {
    TextPosition key;
    TextPosition value;
  };
  const Place* nearest_place(std::string_view pointer) const;

  std::string name_;
  JsonValue value_;
  bool empty_ = false;
  std::unordered_map<std::string, Place> places_;
};

// `key` escaped as one token of a JSON pointer: "a/b" -> "a~1b".
std::string pointer_token(std::string_view key);

// "/input_shape/ids:0/1" -> `input_shape.ids:0[1]`, the way a message names a key. `root` tells an
// index from a key that looks like one.
std::string key_path(std::string_view pointer, const Json& root);

}  // namespace assay
