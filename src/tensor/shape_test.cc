#include "tensor/shape.h"

#include <gtest/gtest.h>

#include "base/testing.h"

namespace assay {
namespace {

using ::assay::testing::StatusIs;
using ::testing::HasSubstr;

TEST(Shape, ScalarHasOneElement) { EXPECT_EQ(element_count({}).value(), 1); }
TEST(Shape, ZeroDimensionHasNone) { EXPECT_EQ(element_count({3, 0, 2}).value(), 0); }
TEST(Shape, FreeDimensionHasNoCount) {
  EXPECT_THAT(element_count({-1, 3}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("[?,3]")));
}
TEST(Shape, OverflowIsRefused) {
  EXPECT_THAT(element_count({1LL << 40, 1LL << 40}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("too many")));
}
TEST(Shape, FreeDimensionOfThePatternMatchesAnything) {
  EXPECT_TRUE(matches({8, 10}, {-1, 10}));
  EXPECT_FALSE(matches({8, 11}, {-1, 10}));
  EXPECT_FALSE(matches({8}, {-1, 10}));
}
TEST(Shape, BatchMultipliesItsAxisEvenWhenThatIsNotOne) {
  EXPECT_EQ(with_batch({26, 2}, 4).value(), (Shape{104, 2}));
  EXPECT_EQ(with_batch({3, 1}, 4, 1).value(), (Shape{3, 4}));
  EXPECT_FALSE(with_batch({}, 4).ok());
}

}  // namespace
}  // namespace assay
