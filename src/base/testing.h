#pragma once

// Matchers for tests: EXPECT_THAT(f(), IsOk()); EXPECT_THAT(f(), StatusIs(StatusCode::kNotFound,
// HasSubstr("x"))); both take a Status or a Result<T>.

#include <gmock/gmock.h>

#include <string>

#include "base/result.h"

namespace assay::testing {

inline Status status_of(const Status& status) { return status; }
template <typename T>
Status status_of(const Result<T>& result) {
  return result.status();
}

// GoogleMock's macros make classes with constant members; matchers are named as its own are.
// NOLINTBEGIN(cppcoreguidelines-avoid-const-or-ref-data-members,readability-identifier-naming)
MATCHER(IsOk, negation ? "is an error" : "is ok") {
  *result_listener << status_of(arg).to_string();
  return status_of(arg).ok();
}

MATCHER_P2(StatusIs, code, message_matcher, "has the code and a matching message") {
  const Status status = status_of(arg);
  *result_listener << status.to_string();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message_matcher, status.message(), result_listener);
}
// NOLINTEND(cppcoreguidelines-avoid-const-or-ref-data-members,readability-identifier-naming)

}  // namespace assay::testing
