#include "drill/slope.h"

#include <cmath>
#include <cstddef>

namespace assay::drill {

Slope fit_slope(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  if (values.size() < 2) return {};
  const double mean_at = (count - 1) / 2;
  double mean = 0;
  for (const double value : values) mean += value / count;
  double spread = 0;
  double together = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = static_cast<double>(i) - mean_at;
    spread += at * at;
    together += at * (values[i] - mean);
  }
  Slope slope{.per_step = together / spread};
  if (values.size() < 3) return slope;
  double residuals = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double residual = values[i] - mean - slope.per_step * (static_cast<double>(i) - mean_at);
    residuals += residual * residual;
  }
  slope.standard_error = std::sqrt(residuals / (count - 2) / spread);
  return slope;
}

}  // namespace assay::drill
