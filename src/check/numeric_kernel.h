#pragma once

// The sums of the numeric comparison over one block of pairs, in one pass, for each instruction set
// that is worth a version of its own. Every version gives the same bits. Internal to check.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "check/elements.h"

namespace assay::check {

inline constexpr std::size_t kBlockElements = 512;

// A block of pairs, at most kBlockElements, at any alignment. Both sides are of one type, FLOAT32
// or FLOAT64: which it is, the function says.
struct PairBlock {
  const std::byte* ref = nullptr;
  const std::byte* got = nullptr;
  const double* diff = nullptr;  // where given, instead of got - ref
  std::size_t size = 0;
};

struct PairRules {
  double atol = 0.0;
  double rtol = 0.0;
  FloatFormat unit = {24, -126};
};

// Sums over a block. They mean something only when every element is finite on both sides; otherwise
// `ref_ref + got_got` is not finite. (With doubles it may overflow without that.)
struct PairSums {
  // The spread of |d| is summed around the pivot, 0 or, where their mean is large against their
  // spread and would cancel it, the mean.
  double pivot = 0.0;
  double abs_shifted = 0.0;  // of |d| - pivot
  double abs_shifted_squared = 0.0;
  double signed_sum = 0.0;
  double squared = 0.0;  // of d
  double ref_ref = 0.0;
  double got_got = 0.0;
  double ref_got = 0.0;
  double max_abs = 0.0;
  std::uint64_t differing = 0;  // d is not 0
  std::uint64_t outside = 0;    // |d| > atol + rtol * |ref|
  // Over elements with |ref| >= atol and ref != 0.
  std::uint64_t relative_elements = 0;
  double relative = 0.0;  // of |d| / |ref|
  double max_relative = 0.0;
  double max_ulps = 0.0;  // |d| in units in the last place of rules.unit at |ref|
};

// What the histograms are of, element by element.
struct PairValues {
  alignas(64) std::array<double, kBlockElements> diff;
  // |d| / 2^(e-1) at |ref| = 2^e * 1.f, which is 2^(2 - significand bits of the unit) in the last
  // place; 0 for elements that the relative figures leave out.
  alignas(64) std::array<double, kBlockElements> places;
};

// `values` may be null; where it is not, its first block.size elements are written.
using PairFunction = PairSums (*)(const PairBlock& block, const PairRules& rules,
                                  PairValues* values);

// Bins of magnitudes: 2^fraction_bits to each power of two, from 2^low_exponent on.
struct LogBins {
  int low_exponent = 0;
  int fraction_bits = 0;
  std::int64_t count = 0;
};

// The slot of each |value|: 0 for zeros, 1 + i for bin i; the first and last bin take what is
// beyond them.
using LogSlots = void (*)(std::span<const double> values, const LogBins& bins,
                          std::uint32_t* slots);

// The slot of each value in `bins` equal steps around 0; the ends take what is beyond them.
using StepSlots = void (*)(std::span<const double> values, double per_step, std::uint32_t bins,
                           std::uint32_t* slots);

struct NumericKernel {
  const char* instruction_set;
  PairFunction float32;
  PairFunction float64;
  LogSlots log_slots;
  StepSlots step_slots;
};

// Those that this machine can run, the fastest first; never empty.
std::span<const NumericKernel> numeric_kernels();

}  // namespace assay::check
