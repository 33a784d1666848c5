#include "tensor/convert.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace assay {
namespace {

struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Bool {
  std::uint8_t value;
};

// Calls `f` with a zero value of the C++ type that stores `dtype`; FP8 has none yet.
template <typename F>
Status with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat64:
      return f(double{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat16:
      return f(Half{});
    case DType::kBFloat16:
      return f(BFloat16{});
    case DType::kInt64:
      return f(std::int64_t{});
    case DType::kInt32:
      return f(std::int32_t{});
    case DType::kInt16:
      return f(std::int16_t{});
    case DType::kInt8:
      return f(std::int8_t{});
    case DType::kUInt8:
      return f(std::uint8_t{});
    case DType::kUInt16:
      return f(std::uint16_t{});
    case DType::kUInt32:
      return f(std::uint32_t{});
    case DType::kUInt64:
      return f(std::uint64_t{});
    case DType::kBool:
      return f(Bool{});
    case DType::kFloat8E4M3:
      break;
  }
  return unimplemented(fmt::format("no conversion for {}", name_of(dtype)));
}

// Every stored value as double or as a wide integer, whichever holds it exactly.
double widen(double v) { return v; }
double widen(float v) { return v; }
double widen(Half v) { return half_to_float(v.bits); }
double widen(BFloat16 v) { return bfloat16_to_float(v.bits); }
std::uint64_t widen(std::uint64_t v) { return v; }
std::int64_t widen(Bool v) { return v.value != 0 ? 1 : 0; }
template <typename T>
  requires std::is_integral_v<T>
std::int64_t widen(T v) {
  return static_cast<std::int64_t>(v);
}

template <typename Wide>
bool narrow(Wide v, double& out) {
  out = static_cast<double>(v);
  return true;
}
template <typename Wide>
bool narrow(Wide v, float& out) {
  out = static_cast<float>(v);
  return true;
}
template <typename Wide>
bool narrow(Wide v, Half& out) {
  out.bits = float_to_half(static_cast<float>(v));
  return true;
}
template <typename Wide>
bool narrow(Wide v, BFloat16& out) {
  out.bits = float_to_bfloat16(static_cast<float>(v));
  return true;
}
template <typename Wide>
bool narrow(Wide v, Bool& out) {
  out.value = v != 0 ? 1 : 0;
  return v == 0 || v == 1;
}
template <typename Wide, typename T>
  requires std::is_integral_v<T>
bool narrow(Wide v, T& out) {
  if constexpr (std::is_floating_point_v<Wide>) {
    return false;
  } else {
    out = static_cast<T>(v);
    return std::in_range<T>(v);
  }
}

template <typename From, typename To>
Status convert_elements(std::span<const std::byte> from_bytes, std::span<std::byte> to_bytes) {
  const std::size_t count = from_bytes.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    From from{};
    To to{};
    std::memcpy(&from, from_bytes.data() + i * sizeof(From), sizeof(From));
    if (!narrow(widen(from), to)) {
      return out_of_range(
          fmt::format("element {} is {}, outside the range of the wanted dtype", i, widen(from)));
    }
    std::memcpy(to_bytes.data() + i * sizeof(To), &to, sizeof(To));
  }
  return ok_status();
}

// Bits of significand (with the hidden one) and largest exponent; integers by value bits.
struct Extent {
  int significand_bits;
  int exponent_max;
};
Extent extent_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return {53, 1023};
    case DType::kFloat32:
      return {24, 127};
    case DType::kFloat16:
      return {11, 15};
    case DType::kBFloat16:
      return {8, 127};
    case DType::kFloat8E4M3:
      return {4, 8};
    case DType::kBool:
      return {1, 0};
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kUInt16:
    case DType::kInt16:
    case DType::kUInt32:
    case DType::kInt32:
    case DType::kUInt64:
    case DType::kInt64:
      break;
  }
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  return {bits, bits};
}

bool is_signed(DType dtype) {
  return is_floating(dtype) || dtype == DType::kInt64 || dtype == DType::kInt32 ||
         dtype == DType::kInt16 || dtype == DType::kInt8;
}

// Value bits of an integer type, without the sign.
int value_bits(DType dtype) {
  return extent_of(dtype).significand_bits - (is_signed(dtype) && dtype != DType::kBool ? 1 : 0);
}

Loss integer_loss(DType from, DType to) {
  if (from == DType::kBool) return Loss::kNone;
  const bool sign_fits = is_signed(to) || !is_signed(from);
  return sign_fits && value_bits(from) <= value_bits(to) ? Loss::kNone : Loss::kRange;
}

}  // namespace

Result<Loss> conversion_loss(DType from, DType to) {
  if (from == to) return Loss::kNone;
  if (from == DType::kFloat8E4M3 || to == DType::kFloat8E4M3 ||
      (is_floating(from) && !is_floating(to))) {
    return unimplemented(
        fmt::format("no conversion from {} to {} is defined", name_of(from), name_of(to)));
  }
  if (!is_floating(to)) return integer_loss(from, to);
  if (!is_floating(from)) {
    const Extent extent = extent_of(to);
    const bool fits =
        value_bits(from) <= extent.significand_bits && value_bits(from) <= extent.exponent_max + 1;
    return fits ? Loss::kNone : Loss::kRounding;
  }
  const Extent a = extent_of(from);
  const Extent b = extent_of(to);
  const bool fits = a.significand_bits <= b.significand_bits && a.exponent_max <= b.exponent_max;
  return fits ? Loss::kNone : Loss::kRounding;
}

Status convert(DType from, std::span<const std::byte> from_bytes, DType to,
               std::span<std::byte> to_bytes) {
  const std::size_t count = from_bytes.size() / size_of(from);
  if (to_bytes.size() < count * size_of(to)) {
    return invalid_argument(
        fmt::format("room for {} bytes, {} are needed", to_bytes.size(), count * size_of(to)));
  }
  if (from == to) {
    if (count > 0) std::memcpy(to_bytes.data(), from_bytes.data(), from_bytes.size());
    return ok_status();
  }
  RETURN_IF_ERROR([&]() -> Status {
    const Result<Loss> loss = conversion_loss(from, to);
    return loss.ok() ? ok_status() : loss.status();
  }());
  const Status status = with_type(from, [&](auto from_zero) {
    return with_type(to, [&](auto to_zero) {
      return convert_elements<decltype(from_zero), decltype(to_zero)>(from_bytes, to_bytes);
    });
  });
  if (status.ok()) return status;  // the text below is made for failures only: loops convert
  return status.with_context(fmt::format("{} to {}", name_of(from), name_of(to)));
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  }
  const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
  return sign != 0 ? -magnitude : magnitude;
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < std::ldexp(1.0F, -14)) {
    const float scaled = std::nearbyint(std::ldexp(magnitude, 24));
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(scaled));
  }
  const std::uint32_t absolute = bits & 0x7FFFFFFFU;
  const std::uint32_t odd = (absolute >> 13) & 1U;
  const std::uint32_t rounded = (absolute + 0xFFFU + odd - (112U << 23)) >> 13;
  return static_cast<std::uint16_t>(sign | rounded);
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  const std::uint32_t odd = (bits >> 16) & 1U;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + odd) >> 16);
}

}  // namespace assay
