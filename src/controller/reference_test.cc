#include "controller/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"

namespace assay::controller {
namespace {

using ::assay::testing::IsOk;
using ::assay::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

workload::ModelInfo model(const std::string& precision, bool quantized = false) {
  workload::ModelInfo info;
  info.name = "net";
  info.model_precision = precision;
  info.is_quantized = quantized;
  return info;
}

TEST(ReferencePrecision, ANamedReferenceHasToExecuteInFp32) {
  EXPECT_THAT(check_reference_precision(model("FP32"), true, "FP32"), IsOk());
  EXPECT_THAT(check_reference_precision(model("FP32"), true, "FP32+INT64"), IsOk());
  for (const char* reduced : {"FP16", "INT8+FP32", "FP32+BF16"}) {
    EXPECT_THAT(check_reference_precision(model("INT8"), true, reduced),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("\"net\""), HasSubstr(reduced), HasSubstr("FP32"))));
  }
}

TEST(ReferencePrecision, AModelIsItsOwnReferenceInThePrecisionThatItIsDeclaredIn) {
  EXPECT_THAT(check_reference_precision(model("FP32"), false, "FP16"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("FP16")));
  EXPECT_THAT(check_reference_precision(model("INT8"), false, "INT8+FP32"), IsOk());
  EXPECT_THAT(check_reference_precision(model("FP32", /*quantized=*/true), false, "INT8"), IsOk());
  EXPECT_THAT(check_reference_precision(model(""), false, "INT8"), IsOk());
}

TEST(ReferencePrecision, WhatIsNotKnownIsNotRefused) {
  EXPECT_THAT(check_reference_precision(model("FP32"), true, ""), IsOk());
}

}  // namespace
}  // namespace assay::controller
