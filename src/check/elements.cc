#include "check/elements.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace assay::check {
namespace {

__extension__ using Int128 = __int128;

template <typename T>
T load_one(const std::byte* bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void load_as(std::span<const std::byte> bytes, double* out) {
  const std::size_t count = bytes.size() / sizeof(T);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<double>(load_one<T>(bytes.data(), i));
}

// Without branches, so that it vectorises: the half's exponent and fraction are read as those of a
// float that is 2^112 too small, which is right for normal and subnormal halves alike.
double half_value(std::uint16_t bits) {
  const std::uint32_t magnitude = std::uint32_t{bits & 0x7FFFU} << 13;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const float special = std::bit_cast<float>(magnitude | 0x7F800000U);
  const float value = (bits & 0x7C00U) == 0x7C00U ? special : scaled;
  return static_cast<double>((bits & 0x8000U) != 0 ? -value : value);
}

void load_half(std::span<const std::byte> bytes, double* out) {
  const std::size_t count = bytes.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = half_value(load_one<std::uint16_t>(bytes.data(), i));
  }
}

void load_bfloat16(std::span<const std::byte> bytes, double* out) {
  const std::size_t count = bytes.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = load_one<std::uint16_t>(bytes.data(), i);
    out[i] = static_cast<double>(std::bit_cast<float>(bits << 16));
  }
}

// E4M3 of the OCP 8-bit floating point specification: bias 7, no infinity, S.1111.111 is NaN.
double float8_value(std::uint8_t bits) {
  const int exponent = (bits >> 3) & 0xF;
  const int fraction = bits & 0x7;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

void load_float8(std::span<const std::byte> bytes, double* out) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out[i] = float8_value(std::to_integer<std::uint8_t>(bytes[i]));
  }
}

Int128 load_integer(DType dtype, const std::byte* bytes, std::size_t index) {
  switch (dtype) {
    case DType::kInt64:
      return load_one<std::int64_t>(bytes, index);
    case DType::kUInt64:
      return load_one<std::uint64_t>(bytes, index);
    case DType::kInt32:
      return load_one<std::int32_t>(bytes, index);
    case DType::kUInt32:
      return load_one<std::uint32_t>(bytes, index);
    case DType::kInt16:
      return load_one<std::int16_t>(bytes, index);
    case DType::kUInt16:
      return load_one<std::uint16_t>(bytes, index);
    case DType::kInt8:
      return load_one<std::int8_t>(bytes, index);
    default:
      return load_one<std::uint8_t>(bytes, index);
  }
}

}  // namespace

void load_doubles(DType dtype, std::span<const std::byte> bytes, double* out) {
  switch (dtype) {
    case DType::kFloat64:
      return load_as<double>(bytes, out);
    case DType::kFloat32:
      return load_as<float>(bytes, out);
    case DType::kFloat16:
      return load_half(bytes, out);
    case DType::kBFloat16:
      return load_bfloat16(bytes, out);
    case DType::kFloat8E4M3:
      return load_float8(bytes, out);
    case DType::kInt64:
      return load_as<std::int64_t>(bytes, out);
    case DType::kInt32:
      return load_as<std::int32_t>(bytes, out);
    case DType::kInt16:
      return load_as<std::int16_t>(bytes, out);
    case DType::kInt8:
      return load_as<std::int8_t>(bytes, out);
    case DType::kUInt8:
    case DType::kBool:
      return load_as<std::uint8_t>(bytes, out);
    case DType::kUInt16:
      return load_as<std::uint16_t>(bytes, out);
    case DType::kUInt32:
      return load_as<std::uint32_t>(bytes, out);
    case DType::kUInt64:
      return load_as<std::uint64_t>(bytes, out);
  }
}

void integer_differences(DType ref_dtype, std::span<const std::byte> ref, DType got_dtype,
                         std::span<const std::byte> got, double* out) {
  const std::size_t count = ref.size() / size_of(ref_dtype);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(load_integer(got_dtype, got.data(), i) -
                                 load_integer(ref_dtype, ref.data(), i));
  }
}

FloatFormat format_of(DType floating) {
  switch (floating) {
    case DType::kFloat64:
      return {53, -1022};
    case DType::kFloat16:
      return {11, -14};
    case DType::kBFloat16:
      return {8, -126};
    case DType::kFloat8E4M3:
      return {4, -6};
    default:
      assert(floating == DType::kFloat32);
      return {24, -126};
  }
}

DType coarser(DType a, DType b) {
  return format_of(b).significand_bits < format_of(a).significand_bits ? b : a;
}

}  // namespace assay::check
