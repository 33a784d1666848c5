#include "base/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "base/json_scan.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxProblemsShown = 50;
constexpr std::size_t kMaxTokenShown = 40;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Offsets -> lines and columns.
class LineIndex {
 public:
  explicit LineIndex(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  TextPosition at(std::size_t offset) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
    const std::size_t start = *(after - 1);
    const std::string_view before = text_.substr(start, offset - start);
    // Bytes that continue a UTF-8 character are not characters.
    const auto characters =
        std::count_if(before.begin(), before.end(), [](char c) { return (c & '\xC0') != '\x80'; });
    return {static_cast<int>(after - starts_.begin()), static_cast<int>(characters) + 1};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_ = {0};
};

std::string found_token(std::string_view text, const JsonToken& token) {
  std::string_view raw = text.substr(token.begin, token.end - token.begin);
  switch (token.kind) {
    case JsonTokenKind::kEnd:
      return "the end of the file";
    case JsonTokenKind::kString:
    case JsonTokenKind::kWord:
      if (raw.size() > kMaxTokenShown) return fmt::format("{}...", raw.substr(0, kMaxTokenShown));
      return std::string(raw);
    default:
      return fmt::format("'{}'", raw);
  }
}

// "... - invalid string: missing closing quote; last read: '...'" -> "missing closing quote".
std::string reason_of(std::string_view what) {
  if (const auto dash = what.find(" - "); dash != std::string_view::npos) {
    what.remove_prefix(dash + 3);
  }
  what = what.substr(0, what.find("; last read"));
  for (const std::string_view prefix : {"invalid string: ", "[json.exception.out_of_range.406] "}) {
    if (what.starts_with(prefix)) what.remove_prefix(prefix.size());
  }
  return std::string(what);
}

}  // namespace

// Receives the parser's events, which come in the order of the tokens.
class JsonFileBuilder : public nlohmann::json_sax<Json> {
 public:
  JsonFileBuilder(std::string_view text, const ScannedJson& scanned, JsonFile& file)
      : text_(text), scanned_(scanned), lines_(text), file_(file) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // not part of JSON text

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = name;
    level.key_at = next_position();
    level.duplicate = !level.keys.insert(name).second;
    if (level.duplicate) report_duplicate(level);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& error) override {
    report_syntax(position, error.what());
    return false;
  }

  void report(std::size_t offset, std::string message) {
    problems_.push_back({file_.name(), lines_.at(offset), "", std::move(message)});
  }

  std::vector<Problem> take_problems() { return std::move(problems_); }

 private:
  struct Level {
    Json* container;
    std::string pointer;
    std::unordered_set<std::string> keys;
    std::string key;
    TextPosition key_at;
    bool duplicate = false;
  };

  TextPosition next_position() {
    const std::vector<JsonToken>& tokens = scanned_.tokens;
    while (tokens[cursor_].kind == JsonTokenKind::kComma ||
           tokens[cursor_].kind == JsonTokenKind::kColon) {
      ++cursor_;
    }
    const TextPosition at = lines_.at(tokens[cursor_].begin);
    if (cursor_ + 1 < tokens.size()) ++cursor_;
    return at;
  }

  std::string child_pointer() const {
    if (levels_.empty()) return "";
    const Level& level = levels_.back();
    if (level.container->is_array()) {
      return fmt::format("{}/{}", level.pointer, level.container->size());
    }
    return fmt::format("{}/{}", level.pointer, pointer_token(level.key));
  }

  // Places `value` and says where it now lives.
  Json* add(Json value) {
    const TextPosition at = next_position();
    if (levels_.empty()) {
      file_.places_[""] = {at, at};
      file_.value_ = JsonValue(value);
      return &file_.value_.mutable_value();
    }
    Level& level = levels_.back();
    const std::string pointer = child_pointer();
    if (level.container->is_array()) {
      file_.places_[pointer] = {at, at};
      level.container->push_back(std::move(value));
      return &level.container->back();
    }
    if (level.duplicate) return &discarded_.emplace_back(std::move(value));
    file_.places_[pointer] = {level.key_at, at};
    return &((*level.container)[level.key] = std::move(value));
  }

  bool put(Json value) {
    add(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (levels_.size() == kMaxDepth) {
      report(scanned_.tokens[cursor_].begin, fmt::format("more than {} levels deep", kMaxDepth));
      return false;
    }
    const std::string pointer = child_pointer();
    Json* placed = add(std::move(container));
    levels_.push_back({placed, pointer, {}, {}, {}, false});
    return true;
  }

  bool close() {
    next_position();
    levels_.pop_back();
    return true;
  }

  void report_duplicate(const Level& level) {
    const std::string pointer = fmt::format("{}/{}", level.pointer, pointer_token(level.key));
    const TextPosition first = file_.key_position(pointer);
    problems_.push_back({file_.name(), level.key_at, key_path(pointer, file_.value()),
                         fmt::format("duplicate key, already given on line {}", first.line)});
  }

  // `position` is the number of bytes the parser had read when it gave up.
  void report_syntax(std::size_t position, std::string_view what) {
    const std::vector<JsonToken>& tokens = scanned_.tokens;
    const auto grammar = find_grammar_error(tokens);
    if (grammar && tokens[grammar->token].begin < std::max<std::size_t>(position, 1)) {
      std::string message = fmt::format(
          "found {}, expected {}", found_token(text_, tokens[grammar->token]), grammar->expected);
      if (!grammar->hint.empty()) message += fmt::format(" ({})", grammar->hint);
      report(tokens[grammar->token].begin, std::move(message));
      return;
    }
    const JsonToken& token = token_before(position, what.find("literal") != std::string_view::npos);
    const std::string found = found_token(text_, token);
    if (token.kind == JsonTokenKind::kWord && what.find("406") == std::string_view::npos) {
      report(token.begin, fmt::format("found {}, expected a number, true, false, null or text in "
                                      "double quotes",
                                      found));
      return;
    }
    report(token.begin, fmt::format("found {}: {}", found, reason_of(what)));
  }

  // The token that begins last before `position`; the last word, when the parser has read on from
  // one into the punctuation behind it.
  const JsonToken& token_before(std::size_t position, bool is_word) const {
    const std::vector<JsonToken>& tokens = scanned_.tokens;
    auto token = std::lower_bound(
        tokens.begin(), tokens.end(), position,
        [](const JsonToken& candidate, std::size_t offset) { return candidate.begin < offset; });
    if (token != tokens.begin()) --token;
    while (is_word && token != tokens.begin() && token->kind != JsonTokenKind::kWord) --token;
    return *token;
  }

  std::string_view text_;
  const ScannedJson& scanned_;
  LineIndex lines_;
  JsonFile& file_;
  std::size_t cursor_ = 0;
  std::vector<Level> levels_;
  std::deque<Json> discarded_;  // values of duplicate keys
  std::vector<Problem> problems_;
};

std::string to_string(const Problem& problem) {
  std::string text = problem.file;
  if (problem.at.line > 0) text += fmt::format(":{}:{}", problem.at.line, problem.at.column);
  if (!text.empty()) text += ": ";
  if (!problem.key.empty()) text += fmt::format("\"{}\": ", problem.key);
  return text + problem.message;
}

Status to_status(std::vector<Problem> problems) {
  if (problems.empty()) return ok_status();
  // By place in the text, files in the order in which they first appear.
  std::vector<std::string> files;
  const auto rank = [&files](const Problem& problem) {
    return std::find(files.begin(), files.end(), problem.file) - files.begin();
  };
  for (const Problem& problem : problems) {
    if (rank(problem) == std::ssize(files)) files.push_back(problem.file);
  }
  std::stable_sort(problems.begin(), problems.end(), [&](const Problem& a, const Problem& b) {
    return std::pair(rank(a), a.at) < std::pair(rank(b), b.at);
  });
  std::string message;
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxProblemsShown); ++i) {
    if (i > 0) message += '\n';
    message += to_string(problems[i]);
  }
  if (problems.size() > kMaxProblemsShown) {
    message += fmt::format("\nand {} more problems", problems.size() - kMaxProblemsShown);
  }
  return invalid_argument(std::move(message));
}

Result<JsonFile> JsonFile::read(const std::filesystem::path& path) {
  ASSIGN_OR_RETURN(const std::string text, read_file(path, kMaxFileBytes));
  return parse(text, path.native());
}

Result<JsonFile> JsonFile::parse(std::string_view text, std::string name) {
  JsonFile file;
  file.name_ = std::move(name);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return invalid_argument(
        fmt::format("{}:1:1: the file is UTF-16, UTF-8 is expected", file.name_));
  }
  const ScannedJson scanned = scan_json(text);
  JsonFileBuilder builder(text, scanned, file);
  if (scanned.unclosed_comment) {
    builder.report(*scanned.unclosed_comment, "found /* without */, expected the comment's end");
    return to_status(builder.take_problems());
  }
  if (scanned.tokens.size() == 1) {
    file.empty_ = true;
    file.places_[""] = {{1, 1}, {1, 1}};
    return file;
  }
  const bool parsed = Json::sax_parse(scanned.plain, &builder);
  std::vector<Problem> problems = builder.take_problems();
  if (!problems.empty()) return to_status(std::move(problems));
  if (!parsed) return internal_error(fmt::format("{}: not parsed, without a reason", file.name_));
  return file;
}

JsonFile JsonFile::from_value(const Json& value, std::string name) {
  JsonFile file;
  file.name_ = std::move(name);
  file.value_ = JsonValue(value);
  return file;
}

const JsonFile::Place* JsonFile::nearest_place(std::string_view pointer) const {
  while (true) {
    const auto found = places_.find(std::string(pointer));
    if (found != places_.end()) return &found->second;
    if (pointer.empty()) return nullptr;
    const std::size_t slash = pointer.rfind('/');
    pointer = pointer.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

TextPosition JsonFile::value_position(std::string_view pointer) const {
  const Place* place = nearest_place(pointer);
  return place == nullptr ? TextPosition{} : place->value;
}

TextPosition JsonFile::key_position(std::string_view pointer) const {
  const Place* place = nearest_place(pointer);
  return place == nullptr ? TextPosition{} : place->key;
}

Problem JsonFile::problem(std::string_view pointer, std::string message) const {
  return {name_, value_position(pointer), key_path(pointer, value()), std::move(message)};
}

Problem JsonFile::key_problem(std::string_view pointer, std::string message) const {
  return {name_, key_position(pointer), key_path(pointer, value()), std::move(message)};
}

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

namespace {

// Takes the first token off `pointer`, unescaped.
std::string take_token(std::string_view& pointer) {
  pointer.remove_prefix(1);  // the slash
  const std::string_view raw = pointer.substr(0, pointer.find('/'));
  pointer.remove_prefix(raw.size());
  std::string token;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const bool escape = raw[i] == '~' && i + 1 < raw.size();
    if (escape) ++i;
    token += !escape ? raw[i] : raw[i] == '1' ? '/' : '~';
  }
  return token;
}

// The member or item that `token` names; null when there is none.
const Json* child_of(const Json& node, const std::string& token) {
  if (node.is_array()) {
    const std::size_t index = std::strtoull(token.c_str(), nullptr, 10);
    return index < node.size() ? &node[index] : nullptr;
  }
  if (!node.is_object()) return nullptr;
  const auto member = node.find(token);
  return member == node.end() ? nullptr : &*member;
}

}  // namespace

std::string key_path(std::string_view pointer, const Json& root) {
  std::string path;
  const Json* node = &root;
  while (!pointer.empty()) {
    const std::string token = take_token(pointer);
    if (node != nullptr && node->is_array()) {
      path += fmt::format("[{}]", token);
    } else {
      path += (path.empty() ? "" : ".") + token;
    }
    if (node != nullptr) node = child_of(*node, token);
  }
  return path;
}

}  // namespace assay
