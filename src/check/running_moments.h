#pragma once

// Sums that do not lose their small terms. Internal to check.

#include <cmath>
#include <cstdint>

namespace assay::check {

// Neumaier's compensated sum: the error does not grow with the number of terms.
class CompensatedSum {
 public:
  void add(double term) {
    const double sum = sum_ + term;
    rest_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
    sum_ = sum;
  }
  // An overflow stays an overflow: its compensation would be a NaN.
  double value() const { return std::isfinite(sum_) ? sum_ + rest_ : sum_; }

 private:
  double sum_ = 0.0;
  double rest_ = 0.0;
};

// Mean and variance, merged group by group.
// Source: Chan, Golub and LeVeque, COMPSTAT 1982.
class RunningMoments {
 public:
  // `shifted` and `shifted_squared` sum x - pivot and its square over `n` values.
  void add(std::uint64_t n, double pivot, double shifted, double shifted_squared) {
    if (n == 0) return;
    const auto count = static_cast<double>(n);
    const double mean = pivot + shifted / count;
    merge(count, mean, std::fmax(0.0, shifted_squared - shifted * shifted / count));
  }

  void merge(double n, double mean, double squared_deviations) {
    if (n == 0) return;
    const double total = n_ + n;
    const double delta = mean - mean_;
    mean_ += delta * (n / total);
    squared_ += squared_deviations + delta * delta * (n_ * n / total);
    n_ = total;
  }

  double mean() const { return mean_; }
  double variance() const { return n_ > 0 ? squared_ / n_ : 0.0; }  // of the population

 private:
  double n_ = 0.0;
  double mean_ = 0.0;
  double squared_ = 0.0;  // sum of squared deviations from the mean
};

}  // namespace assay::check
