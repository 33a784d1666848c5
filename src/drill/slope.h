#pragma once

#include <span>

namespace assay::drill {

// The straight line through values at 0, 1, 2, ... by least squares.
struct Slope {
  double per_step = 0;
  double standard_error = 0;  // of per_step, from the residuals; 0 for fewer than 3 values
};

// 0 for fewer than 2 values.
Slope fit_slope(std::span<const double> values);

}  // namespace assay::drill
