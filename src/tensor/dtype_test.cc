#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace assay {
namespace {

using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

TEST(DType, EveryNumberParsesBackFromItsName) {
  for (std::uint32_t number = 1; is_dtype(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    EXPECT_EQ(parse_dtype(name_of(dtype)).value(), dtype);
  }
}

TEST(DType, PublishedSynonymsAreAccepted) {
  EXPECT_EQ(parse_dtype("LONG").value(), DType::kInt64);
  EXPECT_EQ(parse_dtype("fp16").value(), DType::kFloat16);
}

TEST(DType, UnknownNameIsRefusedWithWhatIsAccepted) {
  EXPECT_THAT(parse_dtype("FLOTA32"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("FLOAT32")));
}

TEST(DType, NumbersOutsideTheListAreNone) {
  EXPECT_FALSE(is_dtype(0));
  EXPECT_FALSE(is_dtype(99));
}

}  // namespace
}  // namespace assay
