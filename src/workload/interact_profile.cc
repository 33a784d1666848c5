#include "workload/interact_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/suggest.h"
#include "base/utf8.h"
#include "workload/comma_list.h"
#include "workload/schemas.h"

namespace assay::workload {
namespace fs = std::filesystem;
namespace {

struct DialogRow {
  std::string_view name;
  DialogType dialog;
  AnswerType usual_type;  // when the question does not say
};
constexpr std::array<DialogRow, 3> kDialogs = {{
    {"Yes/No Dialog", DialogType::kYesNo, AnswerType::kBool},
    {"Radiolist Dialog", DialogType::kRadiolist, AnswerType::kString},
    {"Input Dialog", DialogType::kInput, AnswerType::kString},
}};

struct TypeRow {
  std::string_view name;
  AnswerType type;
  std::string_view accepted;
};
constexpr std::array<TypeRow, 4> kTypes = {{
    {"bool", AnswerType::kBool, "true or false"},
    {"int", AnswerType::kInt, "a whole number"},
    {"float", AnswerType::kFloat, "a number"},
    {"str", AnswerType::kString, "text"},
}};

// Words that stand for a truth value in text.
constexpr std::array<std::pair<std::string_view, bool>, 10> kTruthWords = {{{"true", true},
                                                                            {"false", false},
                                                                            {"yes", true},
                                                                            {"no", false},
                                                                            {"on", true},
                                                                            {"off", false},
                                                                            {"1", true},
                                                                            {"0", false},
                                                                            {"y", true},
                                                                            {"n", false}}};

std::string_view accepted_by(AnswerType type) {
  return std::find_if(kTypes.begin(), kTypes.end(),
                      [&](const TypeRow& row) { return row.type == type; })
      ->accepted;
}

std::optional<Json> as_bool(const Json& value) {
  if (value.is_boolean()) return value;
  if (value == Json(0) || value == Json(1)) return Json(value == Json(1));
  if (!value.is_string()) return std::nullopt;
  std::string word = value.get<std::string>();
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [name, truth] : kTruthWords) {
    if (name == word) return Json(truth);
  }
  return std::nullopt;
}

// The whole of `text` as a number.
template <typename T>
std::optional<Json> parsed(const std::string& text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return Json(number);
}

std::optional<Json> as_int(const Json& value) {
  if (value.is_number_integer()) return value;
  if (value.is_string()) return parsed<std::int64_t>(value.get<std::string>());
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  constexpr double exact = 9007199254740992.0;  // 2^53
  const bool whole = number >= -exact && number <= exact &&
                     static_cast<double>(static_cast<std::int64_t>(number)) == number;
  return whole ? std::optional(Json(static_cast<std::int64_t>(number))) : std::nullopt;
}

std::optional<Json> as_float(const Json& value) {
  if (value.is_number()) return Json(value.get<double>());
  if (!value.is_string()) return std::nullopt;
  std::optional<Json> number = parsed<double>(value.get<std::string>());
  // JSON has no way to write what is not finite, so no answer may be that.
  if (number && !std::isfinite(number->get<double>())) return std::nullopt;
  return number;
}

std::optional<Json> as_text(const Json& value) {
  if (value.is_string()) return value;
  if (value.is_number() || value.is_boolean()) return Json(value.dump());
  return std::nullopt;
}

std::optional<Json> as_type(AnswerType type, const Json& value) {
  switch (type) {
    case AnswerType::kBool:
      return as_bool(value);
    case AnswerType::kInt:
      return as_int(value);
    case AnswerType::kFloat:
      return as_float(value);
    case AnswerType::kString:
      return as_text(value);
  }
  return std::nullopt;
}

std::string listed(const std::vector<JsonValue>& values) {
  std::string text;
  for (const JsonValue& value : values) text += (text.empty() ? "" : ", ") + value.dump();
  return text;
}

// Reads the questions of one list.
class ProfileReader {
 public:
  explicit ProfileReader(const JsonFile& file) : file_(file) { profile_.origin = file.name(); }

  Result<InteractProfile> read() {
    problems_ = check_schema(interact_profile_schema_json, file_);
    if (!problems_.empty()) return to_status(std::move(problems_));
    if (file_.value().is_null()) return std::move(profile_);
    for (std::size_t i = 0; i < file_.value().size(); ++i) read_question(i);
    check_depends();
    if (!problems_.empty()) return to_status(std::move(problems_));
    return std::move(profile_);
  }

 private:
  void report(const std::string& pointer, std::string message) {
    problems_.push_back(file_.problem(pointer, std::move(message)));
  }

  void read_question(std::size_t index) {
    const Json& json = file_.value()[index];
    const std::string at = fmt::format("/{}", index);
    Question question;
    question.name = json.at("name").get<std::string>();
    question.note = text_of(json, "note");
    read_types(json, question);
    read_options(json, at, question);
    read_default(json, at, question);
    if (json.contains("depends")) question.depends = name_list(json.at("depends"));
    if (find_question(question.name) != nullptr) {
      report(at + "/name",
             fmt::format("found \"{}\" twice, accepted: each name once", question.name));
    }
    profile_.questions.push_back(std::move(question));
  }

  static std::string text_of(const Json& json, const char* key) {
    const auto member = json.find(key);
    return member != json.end() && member->is_string() ? member->get<std::string>() : "";
  }

  static void read_types(const Json& json, Question& question) {
    const std::string dialog = text_of(json, "dialog_type");
    for (const DialogRow& row : kDialogs) {
      if (row.name != dialog) continue;
      question.dialog = row.dialog;
      question.type = row.usual_type;
    }
    const std::string type = text_of(json, "type");
    for (const TypeRow& row : kTypes) {
      if (row.name == type) question.type = row.type;
    }
  }

  void read_options(const Json& json, const std::string& at, Question& question) {
    const Json options = json.contains("options") ? json.at("options") : Json();
    for (std::size_t i = 0; i < options.size(); ++i) {
      const auto option = as_type(question.type, options[i]);
      if (option) {
        question.options.emplace_back(*option);
      } else {
        report(
            fmt::format("{}/options/{}", at, i),
            fmt::format("found {}, accepted: {}", options[i].dump(), accepted_by(question.type)));
      }
    }
    if (question.dialog == DialogType::kRadiolist && options.empty()) {
      report(at + "/options",
             "missing, accepted: a list of choices, since this is a Radiolist Dialog");
    }
  }

  void read_default(const Json& json, const std::string& at, Question& question) {
    const auto given = json.find("default");
    if (given == json.end() || given->is_null()) return;
    auto value = coerce_answer(question, *given);
    if (value.ok()) {
      question.default_value = std::move(value).value();
    } else {
      report(at + "/default", value.status().message());
    }
  }

  void check_depends() {
    for (std::size_t i = 0; i < profile_.questions.size(); ++i) {
      for (const std::string& name : profile_.questions[i].depends) {
        if (find_question(name) != nullptr) continue;
        const Problem problem = file_.problem(
            fmt::format("/{}/depends", i),
            fmt::format("\"{}\" is no question, so it counts as not answered{}", name, hint(name)));
        profile_.warnings.push_back(to_string(problem));
      }
    }
  }

  std::string hint(const std::string& name) const {
    std::vector<std::string> names;
    for (const Question& question : profile_.questions) names.push_back(question.name);
    return did_you_mean(name, names);
  }

  const Question* find_question(const std::string& name) const {
    for (const Question& question : profile_.questions) {
      if (question.name == name) return &question;
    }
    return nullptr;
  }

  const JsonFile& file_;
  InteractProfile profile_;
  std::vector<Problem> problems_;
};

bool looks_like_question(const Json& value) {
  return value.is_object() && value.contains("dialog_type");
}

// What backends were seen to return instead of a list; `warnings` says what became of it.
Json normalised_profile(const Json& returned, std::vector<std::string>& warnings) {
  if (!returned.is_object()) return returned;
  if (returned.empty()) return Json();
  if (looks_like_question(returned) && returned.contains("name")) {
    warnings.emplace_back("the profile is one question, taken for a list of one");
    return Json::array({returned});
  }
  Json list = Json::array();
  for (const auto& member : returned.items()) {
    if (!looks_like_question(member.value())) continue;
    Json question = {{"name", member.key()}};
    question.update(member.value());
    list.push_back(std::move(question));
  }
  warnings.emplace_back(list.empty()
                            ? "the profile is an object without questions, taken for none"
                            : "the profile is an object of questions, taken for their list");
  return list;
}

constexpr std::array<std::string_view, 7> kQuestionKeys = {
    "name", "note", "dialog_type", "type", "options", "default", "depends"};

// Keys that the published engine ignores; a backend that carries them still runs.
void drop_unknown_keys(Json& list, std::vector<std::string>& warnings) {
  if (!list.is_array()) return;
  for (Json& question : list) {
    if (!question.is_object()) continue;
    std::vector<std::string> unknown;
    for (const auto& member : question.items()) {
      const bool known = std::find(kQuestionKeys.begin(), kQuestionKeys.end(), member.key()) !=
                         kQuestionKeys.end();
      if (!known) unknown.push_back(member.key());
    }
    for (const std::string& key : unknown) {
      warnings.push_back(fmt::format("a question has the unknown key \"{}\", ignored", key));
      question.erase(key);
    }
  }
}

}  // namespace

Result<InteractProfile> load_interact_profile(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error) && !error) return InteractProfile{path.native(), {}, {}};
  ASSIGN_OR_RETURN(const JsonFile file, JsonFile::read(path));
  return parse_interact_profile(file);
}

Result<InteractProfile> parse_interact_profile(const JsonFile& file) {
  return ProfileReader(file).read();
}

Result<InteractProfile> interact_profile_from_backend(const Json& returned, std::string backend) {
  std::vector<std::string> warnings;
  Json list = normalised_profile(returned, warnings);
  drop_unknown_keys(list, warnings);
  const std::string origin = "backend " + backend;
  ASSIGN_OR_RETURN(InteractProfile profile,
                   parse_interact_profile(JsonFile::from_value(list, origin)));
  for (const std::string& warning : warnings) {
    profile.warnings.push_back(fmt::format("{}: {}", origin, warning));
  }
  return profile;
}

Result<JsonValue> coerce_answer(const Question& question, const Json& value) {
  if (value.is_string() && !is_valid_utf8(value.get_ref<const std::string&>())) {
    return invalid_argument(fmt::format("found \"{}\", accepted: UTF-8 text",
                                        valid_utf8(value.get_ref<const std::string&>())));
  }
  const auto coerced = as_type(question.type, value);
  if (!coerced) {
    return invalid_argument(
        fmt::format("found {}, accepted: {}", value.dump(), accepted_by(question.type)));
  }
  JsonValue answer(*coerced);
  const std::vector<JsonValue>& options = question.options;
  if (!options.empty() && std::find(options.begin(), options.end(), answer) == options.end()) {
    return invalid_argument(fmt::format("found {}, accepted: {}", answer.dump(), listed(options)));
  }
  return answer;
}

}  // namespace assay::workload
