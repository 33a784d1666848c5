#pragma once

// Statistics of a row beyond its percentiles. Pure functions; no function has state or a clock.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace assay::loadgen {

struct Interval {
  double low = 0;
  double high = 0;

  bool contains(double value) const { return low <= value && value <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Of a series that is not empty.
double mean(std::span<const double> values);
double mean(std::span<const std::int64_t> values);

// The middle value, or the mean of the two middle ones. Not empty; copies.
double median(std::span<const double> values);

// Sample standard deviation over mean. None below two values or when the mean is not positive.
std::optional<double> coefficient_of_variation(std::span<const double> values);

// Mean latency of the first and of the last third of a window.
struct Thirds {
  double first = 0;
  double last = 0;

  // How much more the last third took than the first. None when the first took nothing.
  std::optional<double> drift() const {
    return first > 0 ? std::optional(last / first - 1) : std::nullopt;
  }
};

// Of a series in the order in which the calls ended. None below three values.
std::optional<Thirds> thirds(std::span<const std::int64_t> in_order);

// How far the values of a series depend on those before.
struct Autocorrelation {
  double lag1 = 0;             // correlation of neighbours
  double integrated_time = 1;  // 1 + 2 * sum of correlations, at least 1
  bool found = false;          // lag 1 is beyond what independent values of this number show (99 %)
  std::uint64_t effective_n = 0;  // n when not found, else n / integrated_time, at least 1
};

// The sum runs over Geyer's initial positive sequence: pairs of lags until one is not positive.
// Long series are judged by their middle 65,536 values. A constant series is independent.
Autocorrelation autocorrelation(std::span<const std::int64_t> series);

// Little's law: rate * mean latency = number in flight.
struct LittleInput {
  double rate_per_s = 0;  // completions
  double mean_latency_ns = 0;
  std::uint32_t clients = 1;
  std::uint64_t completions = 0;
  // looks at the boundary
  std::uint64_t looks = 0;
  double mean_in_flight = 0;
  double deviation_in_flight = 0;  // standard deviation over the looks
  // What the loop itself spends between two calls of a client, and inside the stamps but outside
  // the boundary (reading the clock).
  double loop_overhead_ns = 0;
};

struct LittleCheck {
  double rate_times_latency = 0;
  double in_flight = 0;
  double tolerance = 0;          // of rate*latency against the count at the boundary
  double clients_tolerance = 0;  // of rate*latency against clients
  bool boundary_agrees = true;
  bool clients_agree = true;

  bool holds() const { return boundary_agrees && clients_agree; }
};

// The tolerance against the boundary is three standard errors of the looks, plus what so few looks
// may have missed, plus the end effect of finite completions, the loop's overhead, and 2 % of
// clients. Against `clients` there are no looks in it, and a row may also fall short by the loop's
// own overhead per call.
LittleCheck check_little(const LittleInput& input);

// Distribution-free interval of a median: the order statistics that the sign test does not reject.
// `values` unsorted, e.g. paired log ratios. None when there are too few values (below 6 at 95 %).
std::optional<Interval> sign_test_interval(std::span<const double> values,
                                           double confidence = 0.95);

// Two things measured alternately: the median of a[i] / b[i] with its sign-test interval.
struct PairedRatio {
  double ratio = 1;
  std::optional<Interval> interval;
  std::size_t pairs = 0;
};

// a and b of equal length, all positive.
PairedRatio paired_ratio(std::span<const double> a, std::span<const double> b,
                         double confidence = 0.95);

// end - start of one clock: the difference, or 0 and negative = true when the clock went backwards.
struct Elapsed {
  std::int64_t ns = 0;
  bool negative = false;
};
constexpr Elapsed elapsed(std::int64_t start_ns, std::int64_t end_ns) {
  return end_ns < start_ns ? Elapsed{0, true} : Elapsed{end_ns - start_ns, false};
}

}  // namespace assay::loadgen
