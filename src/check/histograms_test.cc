#include "check/histograms.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace assay::check {
namespace {

TEST(LogLinearHistogram, WholeNumbersUpTo128AreExact) {
  for (int value = 1; value <= 128; ++value) {
    LogLinearHistogram histogram;
    histogram.add(std::vector<double>{static_cast<double>(value)});
    EXPECT_EQ(histogram.quantile(0.5), value);
  }
}

TEST(LogLinearHistogram, QuantileIsNearestRank) {
  LogLinearHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0.0);
  histogram.add(std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(histogram.quantile(0.5), 2.0);
  EXPECT_EQ(histogram.quantile(0.51), 3.0);
  EXPECT_EQ(histogram.quantile(1.0), 4.0);
  histogram.add_zeros(96);
  EXPECT_EQ(histogram.quantile(0.96), 0.0);
  EXPECT_EQ(histogram.quantile(0.97), 1.0);
}

TEST(LogLinearHistogram, EndsTakeWhatIsBeyond) {
  LogLinearHistogram histogram;
  histogram.add(std::vector<double>{1e-30, 1e300});
  EXPECT_EQ(histogram.quantile(0.5), 0x1p-16);
  EXPECT_EQ(histogram.quantile(1.0), 0x1p64);
}

TEST(LogLinearHistogram, ScalesByAPowerOfTwo) {
  LogLinearHistogram histogram;
  histogram.add(std::vector<double>{0.25, 1.5}, 3);
  EXPECT_EQ(histogram.quantile(0.5), 2.0);
  EXPECT_EQ(histogram.quantile(1.0), 12.0);
}

TEST(LogLinearHistogram, ZerosThatAreNotCountedAreLeftOut) {
  LogLinearHistogram histogram;
  histogram.add(std::vector<double>{0, 0, 0, 7}, 0, 2);
  EXPECT_EQ(histogram.quantile(0.5), 0.0);
  EXPECT_EQ(histogram.quantile(0.51), 7.0);
}

TEST(LogLinearHistogram, NeighboursInOneBinAreAllCounted) {
  LogLinearHistogram histogram;
  histogram.add(std::vector<double>(1201, 5.0));
  histogram.add(std::vector<double>(1200, 6.0));
  EXPECT_EQ(histogram.quantile(0.5), 5.0);
  EXPECT_EQ(histogram.quantile(0.501), 6.0);
}

std::uint64_t total(const SteppedHistogram& histogram) {
  const auto counts = histogram.counts();
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST(SteppedHistogram, DoublingTheRangeMergesNeighboursAndLosesNothing) {
  SteppedHistogram histogram;
  histogram.add(std::vector<double>{0.9, -0.9, 0.01, 0.0}, 0.9);
  EXPECT_EQ(histogram.low(), -1.0);
  EXPECT_EQ(histogram.step(), 2.0 / 128);
  histogram.add(std::vector<double>{7.5}, 7.5);
  EXPECT_EQ(histogram.low(), -8.0);
  EXPECT_EQ(histogram.step(), 0.125);
  EXPECT_EQ(total(histogram), 5U);
  EXPECT_EQ(histogram.counts()[64 + 7], 1U);   // 0.9 in [0.875, 1)
  EXPECT_EQ(histogram.counts()[64 - 8], 1U);   // -0.9 in [-1, -0.875)
  EXPECT_EQ(histogram.counts()[64], 2U);       // 0 and 0.01
  EXPECT_EQ(histogram.counts()[64 + 60], 1U);  // 7.5
}

TEST(SteppedHistogram, OnlyZerosHaveNoRange) {
  SteppedHistogram histogram;
  histogram.add(std::vector<double>{0.0, -0.0}, 0.0);
  histogram.add_zeros(3);
  EXPECT_EQ(histogram.step(), 0.0);
  EXPECT_EQ(histogram.counts()[64], 5U);
}

TEST(SteppedHistogram, ExtremesStayInside) {
  SteppedHistogram histogram;
  const double most = std::numeric_limits<double>::max();
  const double infinite = std::numeric_limits<double>::infinity();
  histogram.add(std::vector<double>{5e-324}, 5e-324);
  histogram.add(std::vector<double>{most, -most}, most);
  histogram.add(std::vector<double>{infinite, -infinite}, infinite);
  EXPECT_EQ(total(histogram), 5U);
}

TEST(PowerHistogram, BinsArePowersOfTwo) {
  PowerHistogram histogram;
  histogram.add(std::vector<double>{1.0, 1.99, 2.0, 0.0, 1e-300, 1e300});
  EXPECT_EQ(histogram.counts()[64], 2U);
  EXPECT_EQ(histogram.counts()[65], 1U);
  EXPECT_EQ(histogram.counts().front(), 1U);
  EXPECT_EQ(histogram.counts().back(), 1U);
  EXPECT_EQ(histogram.zeros(), 1U);
}

}  // namespace
}  // namespace assay::check
