#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "workload/comma_list.h"
#include "workload/interact_profile.h"
#include "workload/schemas.h"

namespace assay::workload {
namespace {

constexpr std::array<std::pair<AnswerSource, std::string_view>, 4> kSourceNames = {{
    {AnswerSource::kSet, "--set"},
    {AnswerSource::kFile, "--answers"},
    {AnswerSource::kDialog, "dialog"},
    {AnswerSource::kDefault, "default"},
}};

bool is_truthy(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  return value.is_string() && !value.get_ref<const std::string&>().empty();
}

// Works through the questions in order; what came before decides what is asked.
class Resolver {
 public:
  Resolver(const InteractProfile& profile, const AnswerRequest& request)
      : profile_(profile), request_(request) {
    for (const Question& question : profile.questions) names_.push_back(question.name);
    answers_.warnings = profile.warnings;
  }

  Result<Answers> run() {
    for (const std::string& option : request_.set_options) read_set_option(option);
    if (!request_.answers_file.empty()) RETURN_IF_ERROR(read_answers_file());
    if (!problems_.empty()) return to_status(std::move(problems_));
    if (request_.dialogs != nullptr && !profile_.questions.empty()) {
      ASSIGN_OR_RETURN(ask_, request_.dialogs->wants_to_configure(profile_.origin));
    }
    for (const Question& question : profile_.questions) RETURN_IF_ERROR(resolve(question));
    return std::move(answers_);
  }

 private:
  struct Given {
    JsonValue value;
    AnswerSource source;
  };

  const Question* find(const std::string& name) const {
    for (const Question& question : profile_.questions) {
      if (question.name == name) return &question;
    }
    return nullptr;
  }

  std::string unknown_question(const std::string& name) const {
    if (names_.empty()) return fmt::format("\"{}\": {} asks nothing", name, profile_.origin);
    const std::string hint = did_you_mean(name, names_);
    return fmt::format("\"{}\": not a question of {}{}", name, profile_.origin,
                       hint.empty() ? ", those are: " + quoted_list(names_) : hint);
  }

  // An answer of higher rank was read before and stays.
  Status give(const Question& question, const Json& value, AnswerSource source) {
    ASSIGN_OR_RETURN(JsonValue answer, coerce_answer(question, value));
    given_.try_emplace(question.name, Given{std::move(answer), source});
    return ok_status();
  }

  void read_set_option(const std::string& option) {
    const auto split = parse_set_option(option);
    if (!split.ok()) {
      problems_.push_back({"--set", {}, "", split.status().message()});
      return;
    }
    const auto& [name, text] = *split;
    const Question* question = find(name);
    if (question == nullptr) {
      problems_.push_back({"--set", {}, "", unknown_question(name)});
      return;
    }
    given_.erase(name);  // of two the later counts
    const Status status = give(*question, Json(text), AnswerSource::kSet);
    if (!status.ok()) problems_.push_back({"--set", {}, name, status.message()});
  }

  Status read_answers_file() {
    ASSIGN_OR_RETURN(const JsonFile file, JsonFile::read(request_.answers_file));
    if (file.empty()) return ok_status();
    for (Problem& problem : check_schema(answers_schema_json, file)) {
      problems_.push_back(std::move(problem));
    }
    if (!file.value().is_object()) return ok_status();
    for (const auto& member : file.value().items())
      read_file_answer(file, member.key(), member.value());
    return ok_status();
  }

  void read_file_answer(const JsonFile& file, const std::string& name, const Json& value) {
    if (name == "$schema" || value.is_null() || value.is_structured()) return;
    const std::string pointer = "/" + pointer_token(name);
    const Question* question = find(name);
    if (question == nullptr) {
      Problem problem = file.key_problem(pointer, unknown_question(name));
      problem.key.clear();  // the message names it
      problems_.push_back(std::move(problem));
      return;
    }
    const Status status = give(*question, value, AnswerSource::kFile);
    if (!status.ok()) problems_.push_back(file.problem(pointer, status.message()));
  }

  // The first name that `question` depends on and that is not answered truthy; "" when there is
  // none.
  std::string unmet(const Question& question) const {
    for (const std::string& name : question.depends) {
      const auto answer =
          std::find_if(answers_.given.begin(), answers_.given.end(),
                       [&](const Answer& candidate) { return candidate.name == name; });
      if (answer == answers_.given.end() || !is_truthy(*answer->value)) return name;
    }
    return "";
  }

  Status resolve(const Question& question) {
    const std::string missing = unmet(question);
    const auto given = given_.find(question.name);
    if (given != given_.end()) {
      if (!missing.empty()) warn_of_unmet(question, missing);
      add(question, given->second.value, given->second.source);
      return ok_status();
    }
    if (!missing.empty()) {
      answers_.skipped.push_back(question.name);
      return ok_status();
    }
    if (ask_) {
      ASSIGN_OR_RETURN(const auto answer, ask(question));
      if (answer) {
        add(question, *answer, AnswerSource::kDialog);
        return ok_status();
      }
    }
    if (question.default_value) {
      add(question, *question.default_value, AnswerSource::kDefault);
    } else {
      answers_.absent.push_back(question.name);
    }
    return ok_status();
  }

  void warn_of_unmet(const Question& question, const std::string& missing) {
    answers_.warnings.push_back(
        fmt::format("\"{}\" is answered, though it depends on \"{}\", which is not answered yes",
                    question.name, missing));
  }

  void add(const Question& question, JsonValue value, AnswerSource source) {
    answers_.given.push_back({question.name, std::move(value), source});
  }

  // Asks until the answer is possible or left at the default.
  Result<std::optional<JsonValue>> ask(const Question& question) {
    std::string complaint;
    while (true) {
      ASSIGN_OR_RETURN(const auto typed, request_.dialogs->ask(question, complaint));
      if (!typed) return std::optional<JsonValue>();
      auto value = coerce_answer(question, **typed);
      if (value.ok()) return std::optional<JsonValue>(std::move(value).value());
      complaint = value.status().message();
    }
  }

  const InteractProfile& profile_;
  const AnswerRequest& request_;
  std::vector<std::string> names_;
  std::map<std::string, Given> given_;
  std::vector<Problem> problems_;
  bool ask_ = false;
  Answers answers_;
};

}  // namespace

std::string_view name_of(AnswerSource source) {
  return kSourceNames[static_cast<std::size_t>(source)].second;
}

Result<std::pair<std::string, std::string>> parse_set_option(const std::string& option) {
  const std::size_t equals = option.find('=');
  if (equals == std::string::npos || equals == 0) {
    return invalid_argument(fmt::format("found \"{}\", accepted: name=value", option));
  }
  return std::pair(option.substr(0, equals), option.substr(equals + 1));
}

Result<Answers> resolve_answers(const InteractProfile& profile, const AnswerRequest& request) {
  return Resolver(profile, request).run();
}

Json interact_info(const Answers& answers) {
  Json json = Json::object();
  for (const Answer& answer : answers.given) json[answer.name] = *answer.value;
  return json;
}

Json to_json(const Answers& answers) {
  Json given = Json::array();
  for (const Answer& answer : answers.given) {
    given.push_back(
        {{"name", answer.name}, {"value", *answer.value}, {"source", name_of(answer.source)}});
  }
  return {{"given", given},
          {"absent", answers.absent},
          {"skipped", answers.skipped},
          {"warnings", answers.warnings}};
}

}  // namespace assay::workload
