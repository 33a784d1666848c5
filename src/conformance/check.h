#pragma once

// A check of the conformance suite and what it came to.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_value.h"

namespace assay::conformance {

enum class Outcome { kPassed, kFailed, kNotSupported, kSkipped };
std::string_view name_of(Outcome outcome);  // "passed", "failed", "not_supported", "skipped"

struct CheckResult {
  Outcome outcome = Outcome::kPassed;
  std::string detail;  // what was seen, what is declared, or because of what; may be "" when passed
  JsonValue facts;     // figures of the check; null without any
};

inline CheckResult passed(std::string detail = {}, JsonValue facts = {}) {
  return {Outcome::kPassed, std::move(detail), std::move(facts)};
}
inline CheckResult failed(std::string seen, JsonValue facts = {}) {
  return {Outcome::kFailed, std::move(seen), std::move(facts)};
}
inline CheckResult not_supported(std::string declared) {
  return {Outcome::kNotSupported, std::move(declared), {}};
}
inline CheckResult skipped(std::string because) {
  return {Outcome::kSkipped, std::move(because), {}};
}

class Bench;

// What has to be there before a check can say anything.
enum class Needs {
  kNothing,   // not even a manifest that can be read
  kManifest,  //
  kLibrary,   // a library that opens
  kModel,     // the suite's model, compiled
};

struct Check {
  std::string_view name;      // "dtype.INT8"
  std::string_view contract;  // the sentence that is checked
  Needs needs = Needs::kModel;
  CheckResult (*run)(Bench& bench, std::int64_t argument) = nullptr;
  std::int64_t argument = 0;  // of run: which dtype, which rank
};

}  // namespace assay::conformance
