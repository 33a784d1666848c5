// A SQuAD file that is accepted has an answer to every question, in its context.

#include <string>
#include <unordered_set>

#include "dataset/squad_file.h"
#include "fuzz.h"

using namespace assay;  // NOLINT(google-build-using-namespace): one function

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = dataset::parse_squad({reinterpret_cast<const char*>(data), size}, "f");
  if (!file.ok()) {
    FUZZ_CHECK(file.status().message().find("f: ") != std::string::npos ||
               file.status().message().starts_with("no samples"));
    return 0;
  }
  FUZZ_CHECK(!file->questions.empty());
  std::unordered_set<std::string> ids;
  for (const dataset::SquadQuestion& question : file->questions) {
    FUZZ_CHECK(ids.insert(question.id).second);
    FUZZ_CHECK(!question.answers.empty() && question.paragraph < file->contexts.size());
    for (const std::string& answer : question.answers) {
      FUZZ_CHECK(file->contexts[question.paragraph].find(answer) != std::string::npos);
    }
  }
  return 0;
}
