#include "check/numeric_kernel.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace assay::check {
namespace {

// Sums are kept in this many partial sums, whatever the vector width of the machine is: the same
// elements give the same bits everywhere. (This file is compiled without contraction to fused
// multiply-adds for the same reason.)
constexpr int kLanes = 8;

// The rules as the loops use them.
struct Scales {
  double atol;
  double rtol;
  double least_counted;   // relative figures are over magnitudes from this one on
  double least_normal;    // of the unit
  bool may_be_subnormal;  // in the unit: a magnitude that is counted
  double last_places;     // 2^(significand_bits - 2)
};

Scales scales_of(const PairRules& rules) {
  const double least_counted = std::max(rules.atol, std::numeric_limits<double>::denorm_min());
  const double least_normal = std::ldexp(1.0, rules.unit.exponent_min);
  return {rules.atol,
          rules.rtol,
          least_counted,
          least_normal,
          least_counted < least_normal,
          std::ldexp(1.0, rules.unit.significand_bits - 2)};
}

// The next elements but some are asked for while these are worked on, which the processor does too
// late by itself: measured, this nearly halves the time of a comparison out of memory. The address
// may lie beyond the array: a prefetch is allowed to fail.
inline __attribute__((always_inline)) void prefetch(const std::byte* from) {
  constexpr std::uintptr_t kAheadBytes = 4096;
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(from) + kAheadBytes;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): no pointer may lie beyond the array
  __builtin_prefetch(reinterpret_cast<const void*>(address));
}

template <typename T>
double element(const std::byte* bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

// Whether subtracting the mean from the sum of squares would cost digits: 16 keeps all but one.
bool mean_hides_spread(const PairSums& sums, std::size_t size) {
  if (size == 0) return false;
  const double mean_part = sums.abs_shifted * (sums.abs_shifted / static_cast<double>(size));
  return sums.squared - mean_part < sums.squared / 16;
}

// Sums |d| again, around its mean. The block is in the first-level cache.
template <typename T>
void sum_around_mean(const PairBlock& block, PairSums& sums) {
  sums.pivot = sums.abs_shifted / static_cast<double>(block.size);
  std::array<double, kLanes> shifted{};
  std::array<double, kLanes> squared{};
  for (std::size_t i = 0; i < block.size; ++i) {
    const double diff =
        block.diff != nullptr ? block.diff[i] : element<T>(block.got, i) - element<T>(block.ref, i);
    const double rest = std::fabs(diff) - sums.pivot;
    shifted[i % kLanes] += rest;
    squared[i % kLanes] += rest * rest;
  }
  sums.abs_shifted = std::accumulate(shifted.begin(), shifted.end(), 0.0);
  sums.abs_shifted_squared = std::accumulate(squared.begin(), squared.end(), 0.0);
}

// The last elements of a block, fewer than kLanes, filled up with pairs of zeros, which add
// nothing.
template <typename T>
struct Tail {
  std::size_t first;
  std::size_t size;
  bool has_diff;
  T ref[kLanes]{};
  T got[kLanes]{};
  double diff[kLanes]{};

  Tail(const PairBlock& whole, std::size_t first_element)
      : first(first_element), size(whole.size - first_element), has_diff(whole.diff != nullptr) {
    std::memcpy(ref, whole.ref + first * sizeof(T), size * sizeof(T));
    std::memcpy(got, whole.got + first * sizeof(T), size * sizeof(T));
    if (has_diff) std::memcpy(diff, whole.diff + first, size * sizeof(double));
  }

  PairBlock block() const {
    return {reinterpret_cast<const std::byte*>(ref), reinterpret_cast<const std::byte*>(got),
            has_diff ? diff : nullptr, kLanes};
  }

  void put(const PairValues& from, PairValues& into) const {
    std::memcpy(into.diff.data() + first, from.diff.data(), size * sizeof(double));
    std::memcpy(into.places.data() + first, from.places.data(), size * sizeof(double));
  }
};

#define ASSAY_KERNEL baseline
#define ASSAY_KERNEL_INLINE inline __attribute__((always_inline))
#define ASSAY_KERNEL_TARGET
#define ASSAY_KERNEL_WIDTH 2
#include "check/numeric_kernel.inc"

#if defined(__x86_64__)
#define ASSAY_KERNEL avx2
#define ASSAY_KERNEL_INLINE inline __attribute__((always_inline, target("avx2")))
#define ASSAY_KERNEL_TARGET __attribute__((target("avx2")))
#define ASSAY_KERNEL_WIDTH 4
#include "check/numeric_kernel.inc"

#define ASSAY_KERNEL avx512
#define ASSAY_KERNEL_INLINE inline __attribute__((always_inline, target("avx512f,avx512dq")))
#define ASSAY_KERNEL_TARGET __attribute__((target("avx512f,avx512dq")))
#define ASSAY_KERNEL_WIDTH 8
#include "check/numeric_kernel.inc"
#endif

constexpr NumericKernel kBaseline{"baseline", baseline::pair_sums<float>,
                                  baseline::pair_sums<double>, baseline::log_slots,
                                  baseline::step_slots};
#if defined(__x86_64__)
constexpr NumericKernel kAll[] = {
    {"AVX-512", avx512::pair_sums<float>, avx512::pair_sums<double>, avx512::log_slots,
     avx512::step_slots},
    {"AVX2", avx2::pair_sums<float>, avx2::pair_sums<double>, avx2::log_slots, avx2::step_slots},
    kBaseline,
};

std::size_t first_supported() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return 0;
  return __builtin_cpu_supports("avx2") ? 1 : 2;
}
#else
constexpr NumericKernel kAll[] = {kBaseline};

std::size_t first_supported() { return 0; }
#endif

}  // namespace

std::span<const NumericKernel> numeric_kernels() {
  static const std::size_t kFirst = first_supported();
  return std::span(kAll).subspan(kFirst);
}

}  // namespace assay::check
