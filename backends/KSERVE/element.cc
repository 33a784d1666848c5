#include "element.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace kserve {
namespace {

using assay::backend::DType;
using assay::backend::Error;

struct WireType {
  DType dtype;
  const char* name;
  const char* assay_name;
};
constexpr std::array<WireType, 13> kTypes = {{{DType::kBool, "BOOL", "BOOL"},
                                              {DType::kUInt8, "UINT8", "UINT8"},
                                              {DType::kUInt16, "UINT16", "UINT16"},
                                              {DType::kUInt32, "UINT32", "UINT32"},
                                              {DType::kUInt64, "UINT64", "UINT64"},
                                              {DType::kInt8, "INT8", "INT8"},
                                              {DType::kInt16, "INT16", "INT16"},
                                              {DType::kInt32, "INT32", "INT32"},
                                              {DType::kInt64, "INT64", "INT64"},
                                              {DType::kFloat16, "FP16", "FLOAT16"},
                                              {DType::kBFloat16, "BF16", "BFLOAT16"},
                                              {DType::kFloat32, "FP32", "FLOAT32"},
                                              {DType::kFloat64, "FP64", "FLOAT64"}}};

// Sixteen bits of float, in memory as on the wire.
struct Half {
  std::uint16_t bits;
};
struct Brain {
  std::uint16_t bits;
};

// Where an element is, for messages.
struct Place {
  const std::string* tensor;
  std::size_t index;
};

[[noreturn]] void lost(const Place& place, const std::string& what) {
  throw Error(ASSAY_DATA_LOSS, "output \"" + *place.tensor + "\", element " +
                                   std::to_string(place.index) + ": " + what);
}

float widened(Brain value) { return std::bit_cast<float>(std::uint32_t{value.bits} << 16U); }

float widened(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (value.bits >> 10U) & 31U;
  const std::uint32_t fraction = value.bits & 1023U;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13U));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
  }
  const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
  return sign != 0 ? -magnitude : magnitude;
}

// Of a binary format with `fraction_bits` after the point and exponents from `lowest` up to
// `highest`: the nearest, ties to even, whose pattern is built from the count of its smallest
// steps.
std::uint16_t narrowed(double value, int fraction_bits, int lowest, int highest) {
  const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
  const auto exponents = static_cast<std::uint32_t>(highest - lowest + 2);
  const std::uint32_t infinity = exponents << static_cast<unsigned>(fraction_bits);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | infinity | (1U << unsigned(fraction_bits - 1)));
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return static_cast<std::uint16_t>(sign | infinity);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  if (exponent > highest) return static_cast<std::uint16_t>(sign | infinity);
  const double steps = std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent));
  // A carry out of the fraction goes into the exponent, up to infinity, as it should.
  const std::uint32_t pattern =
      (static_cast<std::uint32_t>(exponent - lowest) << unsigned(fraction_bits)) +
      static_cast<std::uint32_t>(steps);
  return static_cast<std::uint16_t>(sign | pattern);
}

double as_double(const Number& number) {
  if (number.kind == Number::Kind::kInt) return static_cast<double>(number.integer);
  if (number.kind == Number::Kind::kUnsigned) return static_cast<double>(number.whole);
  return number.real;
}

void check_is_number(const Number& number, const Place& place) {
  if (number.kind == Number::Kind::kNull) {
    lost(place,
         "null, which a server writes for NaN and infinity: the value is lost and the answer "
         "says nothing; transport binary keeps it");
  }
  if (number.kind == Number::Kind::kText) lost(place, "a text, not a number");
  if (number.kind == Number::Kind::kBool) lost(place, "true or false, not a number");
}

template <typename T>
  requires std::is_floating_point_v<T>
T converted(const Number& number, const Place& place) {
  check_is_number(number, place);
  if (number.kind == Number::Kind::kInt) return static_cast<T>(number.integer);
  if (number.kind == Number::Kind::kUnsigned) return static_cast<T>(number.whole);
  if constexpr (std::is_same_v<T, float>) {
    if (std::isinf(number.single) && !std::isinf(number.real)) lost(place, "too large for FP32");
    return number.single;
  } else {
    return number.real;
  }
}

template <typename T>
  requires std::is_same_v<T, Half>
T converted(const Number& number, const Place& place) {
  check_is_number(number, place);
  return {narrowed(as_double(number), 10, -14, 15)};
}

template <typename T>
  requires std::is_same_v<T, Brain>
T converted(const Number& number, const Place& place) {
  check_is_number(number, place);
  return {narrowed(as_double(number), 7, -126, 127)};
}

// 2.0 stands for 2; above 2^53 a float has not got every integer.
Number as_integer(const Number& number, const Place& place) {
  if (number.kind != Number::Kind::kFloat) return number;
  constexpr double kExact = 9007199254740992.0;
  if (!(std::fabs(number.real) < kExact) || number.real != std::trunc(number.real)) {
    lost(place, "a number with a fraction, or too large to be exact, where an integer belongs");
  }
  return Number::of(static_cast<std::int64_t>(number.real));
}

template <typename T>
  requires std::is_integral_v<T>
T converted(const Number& number, const Place& place) {
  check_is_number(number, place);
  const Number integer = as_integer(number, place);
  const bool fits = integer.kind == Number::Kind::kInt ? std::in_range<T>(integer.integer)
                                                       : std::in_range<T>(integer.whole);
  if (!fits) lost(place, "an integer outside the range of the data type");
  return integer.kind == Number::Kind::kInt ? static_cast<T>(integer.integer)
                                            : static_cast<T>(integer.whole);
}

template <typename T>
  requires std::is_same_v<T, std::byte>  // BOOL
T converted(const Number& number, const Place& place) {
  if (number.kind == Number::Kind::kBool) return static_cast<std::byte>(number.whole);
  const auto value = converted<std::int64_t>(number, place);
  if (value != 0 && value != 1) lost(place, "neither true, false, 0 nor 1");
  return static_cast<std::byte>(value);
}

template <typename T>
void append_text(T value, const Place& place, std::string& text) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
    append_text(widened(value), place, text);
  } else if constexpr (std::is_same_v<T, std::byte>) {
    text += value == std::byte{0} ? "false" : "true";
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        throw Error(ASSAY_INVALID_ARGUMENT,
                    "input \"" + *place.tensor + "\", element " + std::to_string(place.index) +
                        ": NaN or infinity, which JSON cannot carry; use transport binary");
      }
    }
    std::array<char, 40> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
    const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), value);
    text.append(room.data(), end);
  }
}

// Calls `visit` with a value of the type that elements of `dtype` have in memory.
template <typename Visit>
void with_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(std::byte{});
    case DType::kUInt8:
      return visit(std::uint8_t{});
    case DType::kUInt16:
      return visit(std::uint16_t{});
    case DType::kUInt32:
      return visit(std::uint32_t{});
    case DType::kUInt64:
      return visit(std::uint64_t{});
    case DType::kInt8:
      return visit(std::int8_t{});
    case DType::kInt16:
      return visit(std::int16_t{});
    case DType::kInt32:
      return visit(std::int32_t{});
    case DType::kInt64:
      return visit(std::int64_t{});
    case DType::kFloat16:
      return visit(Half{});
    case DType::kBFloat16:
      return visit(Brain{});
    case DType::kFloat32:
      return visit(float{});
    case DType::kFloat64:
      return visit(double{});
    default:
      throw Error(ASSAY_UNIMPLEMENTED, "a dtype that the protocol has not");
  }
}

}  // namespace

const char* wire_name(DType dtype) {
  for (const WireType& type : kTypes) {
    if (type.dtype == dtype) return type.name;
  }
  throw Error(ASSAY_UNIMPLEMENTED,
              "the Open Inference Protocol has no data type for dtype number " +
                  std::to_string(static_cast<std::uint32_t>(dtype)));
}

const char* assay_name(DType dtype) {
  for (const WireType& type : kTypes) {
    if (type.dtype == dtype) return type.assay_name;
  }
  return "unknown";
}

DType dtype_of(const std::string& wire, const std::string& where) {
  std::string accepted;
  for (const WireType& type : kTypes) {
    if (type.name == wire) return type.dtype;
    accepted += (accepted.empty() ? "" : ", ") + std::string(type.name);
  }
  const std::string reason =
      wire == "BYTES" ? "texts of any length are no tensor that Assay can compare" : "unknown";
  throw Error(ASSAY_UNIMPLEMENTED, where + ": data type \"" + wire.substr(0, 40) + "\" (" + reason +
                                       "), accepted: " + accepted);
}

DType dtype_named(const std::string& name, const std::string& where) {
  for (const WireType& type : kTypes) {
    if (type.assay_name == name) return type.dtype;
  }
  throw Error(ASSAY_UNIMPLEMENTED,
              where + ": the Open Inference Protocol has no data type for " + name);
}

Number Number::of(bool value) {
  Number number;
  number.whole = value ? 1 : 0;
  number.kind = Kind::kBool;
  return number;
}

Number Number::of(std::int64_t value) {
  Number number;
  number.integer = value;
  number.kind = Kind::kInt;
  return number;
}

Number Number::of(std::uint64_t value) {
  Number number;
  number.whole = value;
  number.kind = Kind::kUnsigned;
  return number;
}

Number Number::of(double value, const std::string& text) {
  Number number;
  number.real = value;
  number.kind = Kind::kFloat;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number.single).ec != std::errc()) {
    number.single = static_cast<float>(value);  // too large or too small: the nearest there is
  }
  return number;
}

Number Number::of_word(std::string_view word) {
  Number number;
  number.kind = Kind::kFloat;
  const bool negative = word.starts_with('-');
  if (negative || word.starts_with('+')) word.remove_prefix(1);
  if (word == "NaN" || word == "nan") {
    number.real = std::numeric_limits<double>::quiet_NaN();
  } else if (word == "Infinity" || word == "Inf" || word == "inf" || word == "infinity") {
    number.real = std::numeric_limits<double>::infinity();
  } else {
    number.kind = Kind::kText;
    return number;
  }
  if (negative) number.real = -number.real;
  number.single = static_cast<float>(number.real);
  return number;
}

void store_numbers(const std::vector<Number>& numbers, DType dtype, const std::string& output,
                   void* memory) {
  with_type(dtype, [&](auto type) {
    auto* const elements = static_cast<decltype(type)*>(memory);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      elements[i] = converted<decltype(type)>(numbers[i], {&output, i});
    }
  });
}

void append_numbers(const assay_tensor& input, std::string& text) {
  const std::string name = input.name;
  with_type(static_cast<DType>(input.dtype), [&](auto type) {
    const auto* const elements = static_cast<const decltype(type)*>(input.data);
    const std::size_t count = input.size_bytes / sizeof(type);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += ',';
      append_text(elements[i], Place{&name, i}, text);
    }
  });
}

}  // namespace kserve
