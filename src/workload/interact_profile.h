#pragma once

// The questions a backend asks before it compiles.

#include <filesystem>
#include <optional>
#include <string>
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

}  // namespace assay::workload
