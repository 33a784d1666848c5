#include "report/canonical.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_file.h"
#include "base/utf8.h"

namespace assay::report {
namespace {

constexpr std::size_t kColumns = 100;

bool is_scalar(const Json& value) { return !value.is_structured(); }

class Writer {
 public:
  explicit Writer(const Json& root) : root_(root) {}

  Result<std::string> write() {
    RETURN_IF_ERROR(check(root_, ""));
    append(root_, 0, 0);
    text_ += '\n';
    return std::move(text_);
  }

 private:
  // Everything that would make dump() throw, or write something that is not in the value.
  Status check(const Json& value, const std::string& pointer) const {
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      return refused(pointer, "is not finite, and JSON has no such number; write null and say why");
    }
    if (value.is_discarded() || value.is_binary()) return refused(pointer, "is not JSON");
    if (value.is_string()) return check_text(value, pointer);
    if (value.is_object()) {
      for (const auto& member : value.items()) {
        const std::string member_pointer = pointer + "/" + pointer_token(member.key());
        RETURN_IF_ERROR(check_text(Json(member.key()), member_pointer));
        RETURN_IF_ERROR(check(member.value(), member_pointer));
      }
    } else if (value.is_array()) {
      std::size_t index = 0;
      for (const Json& item : value) {
        RETURN_IF_ERROR(check(item, fmt::format("{}/{}", pointer, index++)));
      }
    }
    return ok_status();
  }

  Status check_text(const Json& text, const std::string& pointer) const {
    try {
      (void)text.dump();
      return ok_status();
    } catch (const Json::exception&) {
      return refused(pointer, "is not UTF-8");
    }
  }

  Status refused(const std::string& pointer, std::string_view why) const {
    return invalid_argument(fmt::format("{} {}", key_path(pointer, root_), why));
  }

  // On one line: {"a": 1, "b": [1, 2]}
  static void append_flat(const Json& value, std::string& text) {
    if (is_scalar(value)) {
      text += value.dump();
      return;
    }
    const bool object = value.is_object();
    text += object ? '{' : '[';
    bool first = true;
    for (auto item = value.begin(); item != value.end(); ++item) {
      if (!first) text += ", ";
      first = false;
      if (object) text += Json(item.key()).dump() + ": ";
      append_flat(*item, text);
    }
    text += object ? '}' : ']';
  }

  // `used`: columns of the line that are taken before the value.
  void append(const Json& value, std::size_t indent, std::size_t used) {
    std::string flat;
    append_flat(value, flat);
    if (is_scalar(value) || value.empty() || used + character_count(flat) < kColumns) {
      text_ += flat;
    } else if (value.is_object()) {
      append_object(value, indent);
    } else {
      append_list(value, indent);
    }
  }

  void append_object(const Json& value, std::size_t indent) {
    text_ += '{';
    bool first = true;
    for (const auto& member : value.items()) {
      text_ += first ? "\n" : ",\n";
      first = false;
      const std::string key = Json(member.key()).dump() + ": ";
      text_.append(indent + 2, ' ');
      text_ += key;
      append(member.value(), indent + 2, indent + 2 + character_count(key));
    }
    text_ += '\n';
    text_.append(indent, ' ');
    text_ += '}';
  }

  void append_list(const Json& value, std::size_t indent) {
    bool fill = true;
    for (const Json& item : value) fill = fill && item.is_number();
    text_ += '[';
    std::size_t column = kColumns;  // the first item opens a line
    bool first = true;
    for (const Json& item : value) {
      const std::size_t before = text_.size();
      if (!first) text_ += ',';
      first = false;
      const std::size_t width = fill ? item.dump().size() + 2 : kColumns;
      if (column + width >= kColumns) {
        text_ += '\n';
        text_.append(indent + 2, ' ');
        column = indent + 2;
        append(item, indent + 2, column);
        column += fill ? width - 2 : 0;
      } else {
        text_ += ' ';
        append(item, indent + 2, column);
        column += text_.size() - before;
      }
      if (!fill) column = kColumns;
    }
    text_ += '\n';
    text_.append(indent, ' ');
    text_ += ']';
  }

  const Json& root_;
  std::string text_;
};

}  // namespace

Result<std::string> canonical_text(const Json& value) { return Writer(value).write(); }

}  // namespace assay::report
