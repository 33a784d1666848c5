#include "scalar.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "draws.h"

namespace graphcore::arith {
namespace {

constexpr int kLeastExponent = -14;
constexpr int kMantissaBits = 10;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// double holds the sum and the product of two floats well enough that rounding it to float is the
// same as rounding the exact one.
double to_float(double value) { return static_cast<double>(static_cast<float>(value)); }

float stored(double value) {
  return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value);
}

// A magnitude in steps of fp16's last place becomes a whole number of them.
double whole_steps(double steps, Rounding rounding, bool subnormal, std::uint32_t draw) {
  if (rounding == Rounding::kNearestEven) return std::nearbyint(steps);
  const double down = std::floor(steps);
  // As many random bits as a float has beyond fp16's mantissa; below the normal values, 24.
  const double chance = subnormal ? std::ldexp(draw >> 8, -24) : std::ldexp(draw & 0x1FFF, -13);
  return steps - down > chance ? down + 1 : down;
}

// One output element: its products are handed over one by one.
class Element {
 public:
  Element(const Arithmetic& arithmetic, const DrawKeys& keys, std::size_t index, Counters& counters)
      : arithmetic_(arithmetic),
        keys_(keys),
        index_(static_cast<std::uint32_t>(index)),
        counters_(counters) {}

  void add_product(double a, double b) {
    sum_ = to_float(sum_ + to_float(a * b));
    if (++in_block_ == block_of(arithmetic_)) end_block();
  }

  float result(const float* bias) {
    if (in_block_ > 0) end_block();
    const double value =
        bias != nullptr ? to_float(partial_ + static_cast<double>(*bias)) : partial_;
    return stored(arithmetic_.half_storage ? rounded(value) : value);
  }

 private:
  void end_block() {
    partial_ = to_float(partial_ + sum_);
    if (half_partials(arithmetic_)) partial_ = rounded(partial_);
    sum_ = 0;
    in_block_ = 0;
    ++step_;
  }

  double rounded(double value) {
    return scalar_round(value, arithmetic_, draw(keys_, index_, step_), counters_);
  }

  const Arithmetic& arithmetic_;
  const DrawKeys& keys_;
  std::uint32_t index_;
  Counters& counters_;
  double partial_ = 0;
  double sum_ = 0;
  std::size_t in_block_ = 0;
  std::uint32_t step_ = 0;
};

// Where one output element of a convolution is.
struct Place {
  std::size_t image = 0;
  std::size_t filter = 0;
  std::size_t y = 0;
  std::size_t x = 0;
};

// The input at tap (ky, kx) of a place; 0 in the padding.
double tap(const Conv2dShape& shape, const float* input, const Place& place, std::size_t channel,
           std::size_t ky, std::size_t kx) {
  const std::size_t y = place.y * shape.stride_y + ky * shape.dilation_y;
  const std::size_t x = place.x * shape.stride_x + kx * shape.dilation_x;
  if (y < shape.pad_top || y - shape.pad_top >= shape.height) return 0;
  if (x < shape.pad_left || x - shape.pad_left >= shape.width) return 0;
  const std::size_t plane = place.image * shape.channels + channel;
  return input[(plane * shape.height + y - shape.pad_top) * shape.width + x - shape.pad_left];
}

void add_products(const Conv2dShape& shape, const float* input, const float* weights,
                  const Place& place, Element& element) {
  const std::size_t first = place.filter / shape.group_filters() * shape.group_channels();
  const float* weight = weights + place.filter * shape.reduction();
  for (std::size_t c = 0; c < shape.group_channels(); ++c) {
    for (std::size_t ky = 0; ky < shape.kernel_y; ++ky) {
      for (std::size_t kx = 0; kx < shape.kernel_x; ++kx) {
        element.add_product(*weight++, tap(shape, input, place, first + c, ky, kx));
      }
    }
  }
}

}  // namespace

double scalar_round(double value, const Arithmetic& arithmetic, std::uint32_t draw,
                    Counters& counters) {
  if (std::isnan(value)) return kNan;
  if (value == 0) return value;
  double rounded = std::numeric_limits<double>::infinity();
  if (std::isfinite(value)) {
    const int exponent = std::ilogb(value);
    const double step = std::ldexp(1.0, std::max(exponent, kLeastExponent) - kMantissaBits);
    rounded = step * whole_steps(std::fabs(value) / step, arithmetic.rounding,
                                 exponent < kLeastExponent, draw);
  }
  if (rounded > kLargestHalf) {
    ++counters.overflows;
    if (arithmetic.overflow == Overflow::kNan) return kNan;
    rounded = kLargestHalf;
  }
  return std::copysign(rounded, value);
}

std::uint16_t scalar_half_bits(double value) {
  if (std::isnan(value)) return 0x7E00;
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | 0x7C00U);
  const int exponent =
      magnitude == 0 ? kLeastExponent : std::max(std::ilogb(magnitude), kLeastExponent);
  // 1024 of these units make the hidden bit, and the exponent field counts it.
  const auto units = static_cast<unsigned>(std::ldexp(magnitude, kMantissaBits - exponent));
  const auto field = static_cast<unsigned>(exponent - kLeastExponent) << kMantissaBits;
  return static_cast<std::uint16_t>(sign | (field + units));
}

double scalar_half_value(std::uint16_t bits) {
  const int field = (bits >> kMantissaBits) & 0x1F;
  const int mantissa = bits & 0x3FF;
  if (field == 0x1F && mantissa != 0) return kNan;
  double magnitude = std::numeric_limits<double>::infinity();
  if (field == 0) {
    magnitude = std::ldexp(mantissa, kLeastExponent - kMantissaBits);
  } else if (field < 0x1F) {
    magnitude = std::ldexp(mantissa + 1024, field - 1 + kLeastExponent - kMantissaBits);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

void scalar_round_to_half(const float* in, std::uint16_t* out, std::size_t n,
                          const Arithmetic& arithmetic, std::uint64_t op_key, Counters& counters) {
  const DrawKeys keys = draw_keys(arithmetic.seed, op_key);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t number = draw(keys, static_cast<std::uint32_t>(i), 0);
    out[i] = scalar_half_bits(scalar_round(in[i], arithmetic, number, counters));
  }
}

void scalar_matmul(const MatMulShape& shape, const float* a, const float* b, const float* bias,
                   float* out, const Arithmetic& arithmetic, std::uint64_t op_key,
                   Counters& counters) {
  const DrawKeys keys = draw_keys(arithmetic.seed, op_key);
  const auto [batch, m, k, n, one_a, one_b, transpose_a, transpose_b] = shape;
  for (std::size_t index = 0; index < batch * m * n; ++index) {
    const std::size_t column = index % n;
    const std::size_t row = index / n % m;
    const float* from_a = a + (one_a ? 0 : index / n / m) * m * k;
    const float* from_b = b + (one_b ? 0 : index / n / m) * k * n;
    Element element(arithmetic, keys, index, counters);
    for (std::size_t i = 0; i < k; ++i) {
      element.add_product(from_a[transpose_a ? i * m + row : row * k + i],
                          from_b[transpose_b ? column * k + i : i * n + column]);
    }
    out[index] = element.result(bias != nullptr ? bias + column : nullptr);
  }
}

void scalar_conv2d(const Conv2dShape& shape, const float* input, const float* weights,
                   const float* bias, float* out, const Arithmetic& arithmetic,
                   std::uint64_t op_key, Counters& counters) {
  const DrawKeys keys = draw_keys(arithmetic.seed, op_key);
  const std::size_t width = shape.out_width();
  const std::size_t pixels = shape.out_height() * width;
  for (std::size_t index = 0; index < shape.batch * shape.filters * pixels; ++index) {
    const Place place{index / pixels / shape.filters, index / pixels % shape.filters,
                      index % pixels / width, index % width};
    Element element(arithmetic, keys, index, counters);
    add_products(shape, input, weights, place, element);
    out[index] = element.result(bias != nullptr ? bias + place.filter : nullptr);
  }
}

}  // namespace graphcore::arith
