#include "base/json_scan.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kEndsWord = " \t\r\n{}[]:,\"";

std::optional<JsonTokenKind> punctuation(char c) {
  switch (c) {
    case '{':
      return JsonTokenKind::kOpenObject;
    case '}':
      return JsonTokenKind::kCloseObject;
    case '[':
      return JsonTokenKind::kOpenArray;
    case ']':
      return JsonTokenKind::kCloseArray;
    case ':':
      return JsonTokenKind::kColon;
    case ',':
      return JsonTokenKind::kComma;
    default:
      return std::nullopt;
  }
}

bool ends_value(JsonTokenKind kind) {
  return kind == JsonTokenKind::kString || kind == JsonTokenKind::kWord ||
         kind == JsonTokenKind::kCloseObject || kind == JsonTokenKind::kCloseArray;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { result_.plain.assign(text); }

  ScannedJson run() {
    while (at_ < text_.size()) step();
    add(JsonTokenKind::kEnd, text_.size());
    return std::move(result_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (kSpaces.find(c) != std::string_view::npos) {
      ++at_;
    } else if (starts_comment()) {
      skip_comment();
    } else if (c == '"') {
      add(JsonTokenKind::kString, end_of_string());
    } else if (const auto kind = punctuation(c)) {
      if (*kind == JsonTokenKind::kCloseObject || *kind == JsonTokenKind::kCloseArray) {
        drop_trailing_comma();
      }
      add(*kind, at_ + 1);
    } else {
      add(JsonTokenKind::kWord, end_of_word());
    }
  }

  bool starts_comment() const {
    const std::string_view start = text_.substr(at_, 2);
    return start == "//" || start == "/*";
  }

  void skip_comment() {
    const bool to_end_of_line = text_[at_ + 1] == '/';
    std::size_t end = to_end_of_line ? text_.find('\n', at_) : text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
      if (!to_end_of_line) result_.unclosed_comment = at_;
      end = text_.size();
    } else if (!to_end_of_line) {
      end += 2;
    }
    blank(at_, end);
    at_ = end;
  }

  // Past the closing quote; an unclosed string ends with its line.
  std::size_t end_of_string() const {
    std::size_t i = at_ + 1;
    while (i < text_.size() && text_[i] != '\n') {
      if (text_[i] == '"') return i + 1;
      if (text_[i] == '\\') ++i;
      ++i;
    }
    return std::min(i, text_.size());
  }

  std::size_t end_of_word() const {
    std::size_t i = at_ + 1;
    while (i < text_.size() && kEndsWord.find(text_[i]) == std::string_view::npos &&
           text_[i] != '/') {
      ++i;
    }
    return i;
  }

  // Only a comma that follows a value is one too many: `[,]` is not accepted.
  void drop_trailing_comma() {
    std::vector<JsonToken>& tokens = result_.tokens;
    if (tokens.size() < 2 || tokens.back().kind != JsonTokenKind::kComma) return;
    if (!ends_value(tokens[tokens.size() - 2].kind)) return;
    blank(tokens.back().begin, tokens.back().end);
    tokens.pop_back();
  }

  void blank(std::size_t begin, std::size_t end) {
    std::fill(result_.plain.begin() + static_cast<std::ptrdiff_t>(begin),
              result_.plain.begin() + static_cast<std::ptrdiff_t>(end), ' ');
  }

  void add(JsonTokenKind kind, std::size_t end) {
    result_.tokens.push_back({kind, at_, end});
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  ScannedJson result_;
};

// What may come next, inside the innermost container.
enum class State { kValue, kFirstKey, kKey, kColon, kFirstItem, kAfterMember, kAfterItem, kEnd };

std::string expected_in(State state) {
  switch (state) {
    case State::kFirstKey:
      return "a key in double quotes or '}'";
    case State::kKey:
      return "a key in double quotes";
    case State::kColon:
      return "':'";
    case State::kFirstItem:
      return "a value or ']'";
    case State::kAfterMember:
      return "',' or '}'";
    case State::kAfterItem:
      return "',' or ']'";
    case State::kEnd:
      return "the end of the file";
    case State::kValue:
      break;
  }
  return "a value";
}

// Walks the tokens with a stack of open containers.
class Grammar {
 public:
  bool accept(JsonTokenKind kind) {
    switch (state_) {
      case State::kFirstKey:
        return close(kind, JsonTokenKind::kCloseObject) || key(kind);
      case State::kKey:
        return key(kind);
      case State::kColon:
        return take(kind, JsonTokenKind::kColon, State::kValue);
      case State::kFirstItem:
        return close(kind, JsonTokenKind::kCloseArray) || value(kind);
      case State::kAfterMember:
        return close(kind, JsonTokenKind::kCloseObject) ||
               take(kind, JsonTokenKind::kComma, State::kKey);
      case State::kAfterItem:
        return close(kind, JsonTokenKind::kCloseArray) ||
               take(kind, JsonTokenKind::kComma, State::kValue);
      case State::kEnd:
        return kind == JsonTokenKind::kEnd;
      case State::kValue:
        return value(kind);
    }
    return false;
  }

  State state() const { return state_; }

 private:
  bool take(JsonTokenKind kind, JsonTokenKind wanted, State next) {
    if (kind != wanted) return false;
    state_ = next;
    return true;
  }

  bool key(JsonTokenKind kind) { return take(kind, JsonTokenKind::kString, State::kColon); }

  bool value(JsonTokenKind kind) {
    switch (kind) {
      case JsonTokenKind::kOpenObject:
        open_.push_back(kind);
        state_ = State::kFirstKey;
        return true;
      case JsonTokenKind::kOpenArray:
        open_.push_back(kind);
        state_ = State::kFirstItem;
        return true;
      case JsonTokenKind::kString:
      case JsonTokenKind::kWord:
        after_value();
        return true;
      default:
        return false;
    }
  }

  bool close(JsonTokenKind kind, JsonTokenKind wanted) {
    if (kind != wanted) return false;
    open_.pop_back();
    after_value();
    return true;
  }

  void after_value() {
    if (open_.empty()) {
      state_ = State::kEnd;
    } else {
      state_ = open_.back() == JsonTokenKind::kOpenObject ? State::kAfterMember : State::kAfterItem;
    }
  }

  State state_ = State::kValue;
  std::vector<JsonTokenKind> open_;
};

}  // namespace

ScannedJson scan_json(std::string_view text) { return Scanner(text).run(); }

std::optional<JsonGrammarError> find_grammar_error(const std::vector<JsonToken>& tokens) {
  Grammar grammar;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const State state = grammar.state();
    if (grammar.accept(tokens[i].kind)) continue;
    JsonGrammarError error{i, expected_in(state), ""};
    if (state == State::kEnd && tokens[i].kind == JsonTokenKind::kComma) {
      error.hint = "a list of several items starts with '['";
    }
    return error;
  }
  return std::nullopt;
}

}  // namespace assay
