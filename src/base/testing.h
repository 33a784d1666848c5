#pragma once

// Matchers for tests: EXPECT_THAT(f(), IsOk()); EXPECT_THAT(f(), StatusIs(StatusCode::kNotFound,
// HasSubstr("x"))); both take a Status or a Result<T>. And a folder to write in.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
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

// A scratch folder of this process alone, gone with the object: test programs run side by side.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::path(::testing::TempDir()) / "assay-test-XXXXXX") {
    std::string name = path_.string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make " << name;
    path_ = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace assay::testing
