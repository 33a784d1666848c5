#include "dataset/squad_file.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/json.h"
#include "base/json_parse.h"
#include "base/utf8.h"

namespace assay::dataset {
namespace {

constexpr std::size_t kShownCharacters = 60;

// The bytes before character `index` of well-formed UTF-8; nullopt beyond the end.
std::optional<std::size_t> byte_of_character(std::string_view text, std::uint64_t index) {
  std::uint64_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!starts_character(text[i])) continue;
    if (characters == index) return i;
    ++characters;
  }
  return characters == index ? std::optional(text.size()) : std::nullopt;
}

std::string_view first_characters(std::string_view text, std::uint64_t count) {
  return text.substr(0, byte_of_character(text, count).value_or(text.size()));
}

std::string quoted_start(std::string_view text) {
  const std::string_view shown = first_characters(text, kShownCharacters);
  return fmt::format("\"{}{}\"", shown, shown.size() < text.size() ? "..." : "");
}

// One pass over the document. Every function returns what is wrong with its part.
class SquadReader {
 public:
  explicit SquadReader(std::string name) : name_(std::move(name)) {}

  Result<SquadFile> read(const Json& document) {
    RETURN_IF_ERROR(check_version(document));
    ASSIGN_OR_RETURN(const Json* articles, member(document, "", "data", Json::value_t::array));
    for (std::size_t i = 0; i < articles->size(); ++i) {
      RETURN_IF_ERROR(read_article((*articles)[i], fmt::format("data[{}]", i)));
    }
    if (!file_.questions.empty()) return std::move(file_);
    return failed_precondition(fmt::format("no samples: {} has no question", name_));
  }

 private:
  Status corrupt(std::string_view where, std::string_view what) const {
    return data_loss(fmt::format("{}: {}{}{}", name_, where, where.empty() ? "" : ": ", what));
  }

  Status version_2(std::string_view what) const {
    return invalid_argument(fmt::format(
        "{}: {}: this is SQuAD v2.0, whose questions may have no answer; accepted is v1.1", name_,
        what));
  }

  Status check_version(const Json& document) const {
    if (!document.is_object()) {
      return corrupt(
          "", fmt::format("found {}, wanted is an object with \"data\"", document.type_name()));
    }
    const auto version = document.find("version");
    if (version == document.end() || !version->is_string()) return ok_status();
    const auto text = version->get<std::string>();
    if (text.starts_with("v2") || text.starts_with("2")) {
      return version_2(fmt::format("version {}", quoted_start(text)));
    }
    return ok_status();
  }

  // The member `key`, of the type that is wanted.
  Result<const Json*> member(const Json& object, const std::string& where, const char* key,
                             Json::value_t type) const {
    if (!object.is_object()) {
      return corrupt(where, fmt::format("found {}, wanted is an object", object.type_name()));
    }
    const auto found = object.find(key);
    if (found == object.end()) return corrupt(where, fmt::format("\"{}\" is missing", key));
    if (found->type() == type) return &*found;
    return corrupt(where, fmt::format("\"{}\": found {}, wanted is {}", key, found->type_name(),
                                      Json(type).type_name()));
  }

  Result<std::string> text_of(const Json& object, const std::string& where, const char* key) const {
    ASSIGN_OR_RETURN(const Json* value, member(object, where, key, Json::value_t::string));
    return value->get<std::string>();
  }

  Status read_article(const Json& article, const std::string& where) {
    ASSIGN_OR_RETURN(const Json* paragraphs,
                     member(article, where, "paragraphs", Json::value_t::array));
    for (std::size_t i = 0; i < paragraphs->size(); ++i) {
      RETURN_IF_ERROR(read_paragraph((*paragraphs)[i], fmt::format("{}.paragraphs[{}]", where, i)));
    }
    return ok_status();
  }

  Status read_paragraph(const Json& paragraph, const std::string& where) {
    ASSIGN_OR_RETURN(std::string context, text_of(paragraph, where, "context"));
    ASSIGN_OR_RETURN(const Json* questions, member(paragraph, where, "qas", Json::value_t::array));
    file_.contexts.push_back(std::move(context));
    for (std::size_t i = 0; i < questions->size(); ++i) {
      RETURN_IF_ERROR(read_question((*questions)[i], fmt::format("{}.qas[{}]", where, i)));
    }
    return ok_status();
  }

  Status read_question(const Json& json, const std::string& where) {
    SquadQuestion question;
    ASSIGN_OR_RETURN(question.id, text_of(json, where, "id"));
    const std::string named = fmt::format("question \"{}\"", question.id);
    if (question.id.empty()) return corrupt(where, "\"id\" is empty");
    if (!ids_.insert(question.id).second) return corrupt(named, "this id is there twice");
    ASSIGN_OR_RETURN(question.text, text_of(json, named, "question"));
    const auto impossible = json.find("is_impossible");
    if (impossible != json.end() && *impossible == Json(true)) {
      return version_2(named + " is marked impossible");
    }
    question.paragraph = file_.contexts.size() - 1;
    ASSIGN_OR_RETURN(const Json* answers, member(json, named, "answers", Json::value_t::array));
    if (answers->empty()) return corrupt(named, "there is no answer");
    for (std::size_t i = 0; i < answers->size(); ++i) {
      ASSIGN_OR_RETURN(std::string answer,
                       read_answer((*answers)[i], fmt::format("{}, answers[{}]", named, i)));
      question.answers.push_back(std::move(answer));
    }
    file_.questions.push_back(std::move(question));
    return ok_status();
  }

  Result<std::string> read_answer(const Json& json, const std::string& where) const {
    ASSIGN_OR_RETURN(std::string text, text_of(json, where, "text"));
    if (text.empty()) return corrupt(where, "\"text\" is empty");
    const auto offset = json.find("answer_start");
    if (offset == json.end()) return corrupt(where, "\"answer_start\" is missing");
    if (!offset->is_number_unsigned()) {
      return corrupt(where,
                     fmt::format("\"answer_start\": found {}, wanted is a number of "
                                 "characters from 0",
                                 offset->dump(-1, ' ', false, Json::error_handler_t::replace)));
    }
    const std::string_view context = file_.contexts.back();
    const auto begin = byte_of_character(context, offset->get<std::uint64_t>());
    if (!begin) {
      return corrupt(where, fmt::format("\"answer_start\" is {}, the context has {} characters",
                                        offset->get<std::uint64_t>(), character_count(context)));
    }
    const std::string_view there = context.substr(*begin);
    if (there.starts_with(text)) return text;
    return corrupt(where,
                   fmt::format("the text is {}, at character {} of the context stands {}",
                               quoted_start(text), offset->get<std::uint64_t>(),
                               quoted_start(first_characters(there, character_count(text)))));
  }

  std::string name_;
  SquadFile file_;
  std::unordered_set<std::string> ids_;
};

}  // namespace

Result<SquadFile> parse_squad(std::string_view text, const std::string& name) {
  const Result<Json> document = parse_json(text);
  if (!document.ok()) {
    return data_loss(fmt::format("{}: {}", name, document.status().message()));
  }
  return SquadReader(name).read(*document);
}

}  // namespace assay::dataset
