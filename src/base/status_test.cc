#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/result.h"
#include "base/testing.h"

namespace assay {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

Result<int> half(int value) {
  if (value % 2 != 0) return invalid_argument("odd");
  return value / 2;
}

Result<int> quarter(int value) {
  ASSIGN_OR_RETURN(const int once, half(value));
  ASSIGN_OR_RETURN(const int twice, half(once));
  return twice;
}

TEST(Status, DefaultIsOk) {
  EXPECT_THAT(Status(), IsOk());
  EXPECT_EQ(Status().to_string(), "OK");
}

TEST(Status, ContextIsPutBeforeTheMessageAndKeepsTheCode) {
  const Status status = not_found("no such key").with_context("file a.json");
  EXPECT_EQ(status.to_string(), "NOT_FOUND: file a.json: no such key");
}

TEST(Status, CodeOutsideTheListIsShownAsNumber) {
  EXPECT_EQ(status_code_name(static_cast<StatusCode>(42)), "CODE_42");
}

TEST(Status, ErrnoBecomesTheMatchingCode) {
  EXPECT_THAT(errno_status(ENOSPC, "write"),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("write")));
  EXPECT_THAT(errno_status(EACCES, "open"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("open")));
}

TEST(Result, AssignOrReturnPassesTheFirstFailureOn) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_THAT(quarter(6), StatusIs(StatusCode::kInvalidArgument, HasSubstr("odd")));
}

}  // namespace
}  // namespace assay
