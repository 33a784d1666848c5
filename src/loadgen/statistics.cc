#include "loadgen/statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

#include "loadgen/percentile.h"

namespace assay::loadgen {
namespace {

constexpr std::size_t kAutocorrelationWindow = 65'536;
constexpr double kStandardErrors = 3;
constexpr double kLittleRelative = 0.02;

// Covariance of a centred series with itself `lag` later, divided by n (the usual biased form).
double autocovariance(std::span<const double> centred, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < centred.size(); ++i) sum += centred[i] * centred[i + lag];
  return sum / static_cast<double>(centred.size());
}

// Geyer (1992): sums of neighbouring pairs of correlations are positive for a reversible process;
// the first that is not is noise, and so is what follows.
double integrated_time(std::span<const double> centred, double variance) {
  double sum = 0;  // of correlations from lag 0 on
  for (std::size_t lag = 0; lag + 1 < centred.size() / 2; lag += 2) {
    const double pair =
        (autocovariance(centred, lag) + autocovariance(centred, lag + 1)) / variance;
    if (pair <= 0) break;
    sum += pair;
  }
  return std::max(1.0, 2 * sum - 1);
}

}  // namespace

double mean(std::span<const double> values) {
  assert(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean(std::span<const std::int64_t> values) {
  assert(!values.empty());
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

double median(std::span<const double> values) {
  assert(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<double> coefficient_of_variation(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double average = mean(values);
  if (!(average > 0)) return std::nullopt;
  double squares = 0;
  for (const double value : values) squares += (value - average) * (value - average);
  return std::sqrt(squares / static_cast<double>(values.size() - 1)) / average;
}

std::optional<Thirds> thirds(std::span<const std::int64_t> in_order) {
  const std::size_t third = in_order.size() / 3;
  if (third == 0) return std::nullopt;
  return Thirds{.first = mean(in_order.first(third)), .last = mean(in_order.last(third))};
}

Autocorrelation autocorrelation(std::span<const std::int64_t> series) {
  Autocorrelation result;
  result.effective_n = series.size();
  if (series.size() < 4) return result;
  const std::size_t length = std::min(series.size(), kAutocorrelationWindow);
  const auto middle = series.subspan((series.size() - length) / 2, length);
  std::vector<double> centred(length);
  const double average = mean(middle);
  std::ranges::transform(middle, centred.begin(), [average](std::int64_t value) {
    return static_cast<double>(value) - average;
  });
  const double variance = autocovariance(centred, 0);
  if (!(variance > 0)) return result;
  result.lag1 = autocovariance(centred, 1) / variance;
  // Independent values show a lag 1 of about N(0, 1/n); 2.33 is its one-sided 99 % point.
  result.found = result.lag1 > 2.33 / std::sqrt(static_cast<double>(length));
  if (!result.found) return result;
  result.integrated_time = integrated_time(centred, variance);
  const double effective = static_cast<double>(series.size()) / result.integrated_time;
  result.effective_n = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(effective));
  return result;
}

LittleCheck check_little(const LittleInput& input) {
  LittleCheck check;
  const double clients = input.clients;
  const double per_ns = input.rate_per_s / 1e9;
  check.rate_times_latency = per_ns * input.mean_latency_ns;
  check.in_flight = input.mean_in_flight;
  const double end_effect =
      input.completions == 0 ? clients : clients / static_cast<double>(input.completions);
  const double overhead = std::min(per_ns * input.loop_overhead_ns, clients);
  check.clients_tolerance = end_effect + kLittleRelative * clients;
  check.tolerance = clients;  // without looks nothing is known, and nothing disagrees
  if (input.looks > 0) {
    const double looks = static_cast<double>(input.looks);
    check.tolerance = kStandardErrors * input.deviation_in_flight / std::sqrt(looks) +
                      clients / (looks + 1) + check.clients_tolerance + overhead;
    const double difference = std::abs(check.rate_times_latency - check.in_flight);
    check.boundary_agrees = difference <= check.tolerance;
  }
  check.clients_agree = check.rate_times_latency <= clients + check.clients_tolerance &&
                        check.rate_times_latency >= clients - check.clients_tolerance - overhead;
  return check;
}

std::optional<Interval> sign_test_interval(std::span<const double> values, double confidence) {
  const std::uint64_t n = values.size();
  const double tail = (1 - confidence) / 2;
  // The largest k with P[Binomial(n, 1/2) < k] <= tail: values k and n + 1 - k bound the median.
  std::uint64_t k = 0;
  while (k < n / 2 && binomial_cdf(n, 0.5, k) <= tail) ++k;
  if (k == 0) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return Interval{sorted[k - 1], sorted[n - k]};
}

PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b, double confidence) {
  assert(a.size() == b.size() && !a.empty());
  std::vector<double> logs(a.size());
  std::ranges::transform(a, b, logs.begin(), [](double x, double y) { return std::log(x / y); });
  PairedRatio result{.ratio = std::exp(median(logs)), .interval = {}, .pairs = logs.size()};
  if (const auto interval = sign_test_interval(logs, confidence)) {
    result.interval = Interval{std::exp(interval->low), std::exp(interval->high)};
  }
  return result;
}

}  // namespace assay::loadgen
