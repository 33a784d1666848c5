#include "loadgen/percentile.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace assay::loadgen {
namespace {

constexpr std::uint64_t kMillion = 1'000'000;

// std::lgamma writes a global sign and is not thread-safe.
double log_factorial(std::uint64_t n) {
  int sign = 0;
  return lgamma_r(static_cast<double>(n) + 1.0, &sign);
}

double log_binomial_probability(std::uint64_t n, double q, std::uint64_t k) {
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k) +
         static_cast<double>(k) * std::log(q) + static_cast<double>(n - k) * std::log1p(-q);
}

// Below this many successes there is nothing that a double would see (less than 1e-30).
std::uint64_t negligible_below(std::uint64_t n, double q) {
  const double expected = static_cast<double>(n) * q;
  const double start = expected - 12.0 * std::sqrt(expected * (1 - q)) - 12.0;
  return start <= 0 ? 0 : static_cast<std::uint64_t>(start);
}

// P[Binomial(n, q) = k] for k, k+1, ...: the first from logarithms, the others by their ratio.
class Terms {
 public:
  Terms(std::uint64_t n, double q, std::uint64_t first)
      : n_(n), k_(first), odds_(q / (1 - q)), term_(std::exp(log_binomial_probability(n, q, k_))) {}

  double value() const { return term_; }
  std::uint64_t k() const { return k_; }
  void advance() {
    term_ *= odds_ * static_cast<double>(n_ - k_) / static_cast<double>(k_ + 1);
    ++k_;
  }

 private:
  std::uint64_t n_;
  std::uint64_t k_;
  double odds_;
  double term_;
};

}  // namespace

std::uint64_t nearest_rank(Fraction p, std::uint64_t n) {
  // In two parts, so that no product overflows.
  const std::uint64_t whole = n / kMillion * p.ppm;
  const std::uint64_t rank = whole + (n % kMillion * p.ppm + kMillion - 1) / kMillion;
  return std::clamp<std::uint64_t>(rank, 1, n);
}

std::int64_t percentile(std::span<const std::int64_t> sorted, Fraction p) {
  assert(!sorted.empty());
  return sorted[nearest_rank(p, sorted.size()) - 1];
}

double binomial_cdf(std::uint64_t n, double q, std::uint64_t t) {
  if (t >= n || q <= 0) return 1;
  if (q >= 1) return 0;
  const std::uint64_t first = negligible_below(n, q);
  if (t < first) return 0;
  double sum = 0;
  for (Terms terms(n, q, first);; terms.advance()) {
    sum += terms.value();
    // Past the mode the terms only fall: when they stop counting, the rest does too.
    const bool spent =
        static_cast<double>(terms.k()) > static_cast<double>(n) * q && terms.value() < sum * 1e-17;
    if (terms.k() == t || spent) break;
  }
  return std::min(sum, 1.0);
}

std::optional<std::uint64_t> bound_budget(Fraction p, std::uint64_t n, double confidence) {
  const double q = static_cast<double>(kMillion - p.ppm) / static_cast<double>(kMillion);
  if (n == 0 || q <= 0) return std::nullopt;
  const double limit = 1 - confidence;
  const std::uint64_t first = negligible_below(n, q);
  std::optional<std::uint64_t> budget;
  if (first > 0) budget = first - 1;
  double sum = 0;
  for (Terms terms(n, q, first); terms.k() < n; terms.advance()) {
    sum += terms.value();
    if (sum >= limit) break;
    budget = terms.k();
  }
  return budget;
}

std::optional<std::uint64_t> upper_bound_rank(Fraction p, std::uint64_t n, double confidence) {
  const std::optional<std::uint64_t> budget = bound_budget(p, n, confidence);
  if (!budget) return std::nullopt;
  return n - *budget;
}

std::uint64_t sample_floor(Fraction p, double confidence) {
  assert(p.ppm < kMillion);
  const auto reaches_one = [&](std::uint64_t n) {
    const std::optional<std::uint64_t> budget = bound_budget(p, n, confidence);
    return budget && *budget >= 1;
  };
  std::uint64_t high = 2;
  while (!reaches_one(high)) high *= 2;
  std::uint64_t low = high / 2;  // does not reach it
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (reaches_one(middle) ? high : low) = middle;
  }
  return high;
}

void Distribution::add(std::int64_t value, std::uint64_t count) {
  if (count > 0) groups_.push_back({value, count});
}

void Distribution::finish() {
  std::ranges::sort(groups_, {}, &Group::value);
  cumulative_.clear();
  cumulative_.reserve(groups_.size());
  std::uint64_t total = 0;
  for (const Group& group : groups_) cumulative_.push_back(total += group.count);
}

std::int64_t Distribution::at_rank(std::uint64_t rank) const {
  assert(rank >= 1 && rank <= count());
  const auto found = std::ranges::lower_bound(cumulative_, rank);
  return groups_[static_cast<std::size_t>(found - cumulative_.begin())].value;
}

}  // namespace assay::loadgen
