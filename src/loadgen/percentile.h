#pragma once

// Percentiles: one definition (nearest rank), the confidence bound beside each, and the number of
// samples below which none is printed. Pure functions.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay::loadgen {

// A fraction in parts per million, so that ranks are exact: 0.55 * 100 is 55.00000000000001 in
// floating point, and rounds up to the wrong rank.
struct Fraction {
  std::uint32_t ppm = 0;  // 1 .. 1,000,000

  double value() const { return ppm / 1e6; }
  friend auto operator<=>(const Fraction&, const Fraction&) = default;
};

struct NamedPercentile {
  std::string_view name;
  Fraction fraction;
};

// Those that a row reports, in order.
inline constexpr std::array<NamedPercentile, 5> kPercentiles{{{"p50", {500'000}},
                                                              {"p90", {900'000}},
                                                              {"p95", {950'000}},
                                                              {"p99", {990'000}},
                                                              {"p999", {999'000}}}};

// 1-based rank of the smallest of n sorted values with at least p*n values at or below it:
// ceil(p*n), at least 1. n at least 1.
std::uint64_t nearest_rank(Fraction p, std::uint64_t n);

// The percentile of ascending values, not empty.
std::int64_t percentile(std::span<const std::int64_t> sorted, Fraction p);

// P[Binomial(n, q) <= t], 0 <= q <= 1. Relative error below 1e-6 up to n = 1e9 wherever the result
// is above 1e-12. Cost: about the square root of n.
double binomial_cdf(std::uint64_t n, double q, std::uint64_t t);

// The largest t with P[Binomial(n, 1-p) <= t] < 1 - confidence; none when not even t = 0 has it.
std::optional<std::uint64_t> bound_budget(Fraction p, std::uint64_t n, double confidence = 0.99);

// 1-based rank of the upper confidence bound of the percentile: X(n - t). None without a budget.
std::optional<std::uint64_t> upper_bound_rank(Fraction p, std::uint64_t n,
                                              double confidence = 0.99);

// Samples below which the percentile is withheld: the smallest n whose budget is 1.
// p50 11, p90 64, p95 130, p99 662, p99.9 6,636.
std::uint64_t sample_floor(Fraction p, double confidence = 0.99);

// A sorted multiset of latencies: exact values, and buckets of equal ones that stand for a
// histogram's counts. Built once, then read; reading is thread-safe.
class Distribution {
 public:
  void add(std::int64_t value, std::uint64_t count = 1);
  // Sorts; call it after the last add and before anything below.
  void finish();

  std::uint64_t count() const { return cumulative_.empty() ? 0 : cumulative_.back(); }
  // rank 1 is the smallest; 1 <= rank <= count().
  std::int64_t at_rank(std::uint64_t rank) const;
  std::int64_t percentile(Fraction p) const { return at_rank(nearest_rank(p, count())); }

  struct Group {
    std::int64_t value = 0;
    std::uint64_t count = 0;
  };
  std::span<const Group> groups() const { return groups_; }

 private:
  std::vector<Group> groups_;
  std::vector<std::uint64_t> cumulative_;
};

}  // namespace assay::loadgen
