// A profile, from a file and from a backend: its questions can be resolved, and what is answered is
// among the options.

#include "workload/interact_profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fuzz.h"

using namespace assay;  // NOLINT(google-build-using-namespace): one function

namespace {

void check_profile(const workload::InteractProfile& profile) {
  const auto answers = workload::resolve_answers(profile, {});
  FUZZ_CHECK(answers.ok());
  FUZZ_CHECK(answers->given.size() + answers->absent.size() + answers->skipped.size() ==
             profile.questions.size());
  for (const workload::Question& question : profile.questions) {
    if (!question.default_value || question.options.empty()) continue;
    FUZZ_CHECK(std::find(question.options.begin(), question.options.end(),
                         *question.default_value) != question.options.end());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = JsonFile::parse({reinterpret_cast<const char*>(data), size}, "f");
  if (!file.ok()) return 0;
  const auto profile = workload::parse_interact_profile(*file);
  if (profile.ok()) check_profile(*profile);
  const auto returned = workload::interact_profile_from_backend(file->value(), "HW");
  if (returned.ok()) check_profile(*returned);
  FUZZ_CHECK(!profile.ok() || returned.ok());  // what a file may say, a backend may
  return 0;
}
