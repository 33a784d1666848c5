#include "drill/slope.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::drill {
namespace {

TEST(Slope, OfAStraightLineIsItsStepWithoutError) {
  const Slope slope = fit_slope(std::vector<double>{5, 8, 11, 14});
  EXPECT_DOUBLE_EQ(slope.per_step, 3);
  EXPECT_NEAR(slope.standard_error, 0, 1e-12);
}

// At 0, 1, 2: mean 2, slope ((-1)(1-2) + (1)(2-2)) / 2 = 0.5; fitted 1.5, 2, 2.5, residuals -0.5,
// 1, -0.5, their squares 1.5 over 1 degree of freedom and spread 2: sqrt(0.75).
TEST(Slope, ErrorComesFromTheResiduals) {
  const Slope slope = fit_slope(std::vector<double>{1, 3, 2});
  EXPECT_DOUBLE_EQ(slope.per_step, 0.5);
  EXPECT_DOUBLE_EQ(slope.standard_error, 0.8660254037844386);
}

TEST(Slope, OfOneValueIsNone) {
  EXPECT_EQ(fit_slope(std::vector<double>{7}).per_step, 0);
  EXPECT_EQ(fit_slope({}).per_step, 0);
}

}  // namespace
}  // namespace assay::drill
