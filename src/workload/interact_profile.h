#pragma once

// The questions a backend asks before it compiles, and the answers, wherever they come from.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_file.h"
#include "base/result.h"

namespace assay::workload {

enum class DialogType { kYesNo, kRadiolist, kInput };
enum class AnswerType { kBool, kInt, kFloat, kString };

struct Question {
  std::string name;
  std::string note;
  DialogType dialog = DialogType::kInput;
  AnswerType type = AnswerType::kString;
  std::vector<JsonValue> options;          // of `type`; empty when anything of the type is accepted
  std::optional<JsonValue> default_value;  // of `type`
  std::vector<std::string> depends;        // all must be answered truthy
};

struct InteractProfile {
  std::string origin;  // file name, or the backend's name
  std::vector<Question> questions;
  std::vector<std::string> warnings;
};

// An absent or zero-byte file, an empty list and null mean no questions. A default that is not
// among the options is the backend's error (kInvalidArgument).
Result<InteractProfile> load_interact_profile(const std::filesystem::path& path);
Result<InteractProfile> parse_interact_profile(const JsonFile& file);

// What a backend's get_interact_profile returned. Besides the above, an object of questions by name
// is taken as their list; an object that holds no question means none, with a warning.
Result<InteractProfile> interact_profile_from_backend(const Json& returned, std::string backend);

// `value` as the question's type: "12" -> 12, "yes" -> true. kInvalidArgument says what is
// accepted.
Result<JsonValue> coerce_answer(const Question& question, const Json& value);

enum class AnswerSource { kSet, kFile, kDialog, kDefault };
std::string_view name_of(AnswerSource source);  // "--set", "--answers", "dialog", "default"

struct Answer {
  std::string name;
  JsonValue value;
  AnswerSource source = AnswerSource::kDefault;
};

struct Answers {
  std::vector<Answer> given;         // in the order of the questions
  std::vector<std::string> absent;   // asked, but neither answered nor with a default
  std::vector<std::string> skipped;  // not asked, since what they depend on was not answered yes
  std::vector<std::string> warnings;
};

// {name: value}: the `interact_info` that backends get.
Json interact_info(const Answers& answers);
// [{name, value, source}] with absent, skipped and warnings beside it, for the report.
Json to_json(const Answers& answers);

// Asks a person. One call at a time.
class DialogProvider {
 public:
  virtual ~DialogProvider() = default;

  // The first question: shall the options be gone through at all? kCancelled ends the run.
  virtual Result<bool> wants_to_configure(const std::string& backend) = 0;

  // The answer as typed or chosen (yes/no: a boolean; else text); none when the person leaves it at
  // the default. `complaint` says what was wrong with the answer before, or is "".
  virtual Result<std::optional<JsonValue>> ask(const Question& question,
                                               const std::string& complaint) = 0;
};

struct AnswerRequest {
  std::vector<std::string> set_options;  // "name=value", as given on the command line
  std::filesystem::path answers_file;    // empty: none
  DialogProvider* dialogs = nullptr;     // null: nobody is asked
};

// Splits "name=value"; kInvalidArgument when there is no name or no "=".
Result<std::pair<std::string, std::string>> parse_set_option(const std::string& option);

// Answers in this order: --set, answers file, dialogs, defaults. Every unknown name and impossible
// value in one kInvalidArgument.
Result<Answers> resolve_answers(const InteractProfile& profile, const AnswerRequest& request);

}  // namespace assay::workload
