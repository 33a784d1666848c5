#pragma once

// The first of two passes over a JSON file: finds tokens, and blanks what JSON has no place for
// (comments, trailing commas) so that a strict parser can read the rest at unchanged offsets.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class JsonTokenKind {
  kOpenObject,
  kCloseObject,
  kOpenArray,
  kCloseArray,
  kColon,
  kComma,
  kString,
  kWord,  // a number, true, false, null, or something that is none of these
  kEnd,
};

// Bytes [begin, end) of the text.
struct JsonToken {
  JsonTokenKind kind = JsonTokenKind::kEnd;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct ScannedJson {
  std::string plain;                            // as long as the text
  std::vector<JsonToken> tokens;                // without trailing commas; the last one is kEnd
  std::optional<std::size_t> unclosed_comment;  // where a /* without */ begins
};

// Never fails: what is not JSON becomes words, and the parser says so.
ScannedJson scan_json(std::string_view text);

// Where a token sequence stops being JSON, and what could stand there instead.
struct JsonGrammarError {
  std::size_t token = 0;  // index
  std::string expected;
  std::string hint;  // why, when that can be told; else ""
};

// The first token that cannot stand where it does; words count as values. None when all can.
std::optional<JsonGrammarError> find_grammar_error(const std::vector<JsonToken>& tokens);

}  // namespace assay
