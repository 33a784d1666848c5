#pragma once

// Elements of tensors on the wire: names of the protocol's data types, and numbers as JSON text,
// exact in both directions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend.hpp"

namespace kserve {

// "FP32". Throws ASSAY_UNIMPLEMENTED for a dtype that the protocol has no name for.
const char* wire_name(assay::backend::DType dtype);

// "FLOAT32", as Assay's files have it.
const char* assay_name(assay::backend::DType dtype);

// The dtype of "FLOAT32"; throws ASSAY_UNIMPLEMENTED when the protocol has none for it.
assay::backend::DType dtype_named(const std::string& name, const std::string& where);

// Throws ASSAY_UNIMPLEMENTED for BYTES and names that are none; `where` says what has it.
assay::backend::DType dtype_of(const std::string& wire, const std::string& where);

// A number as it was read. Text that was a float is kept as both precisions, since going through
// double can round twice.
struct Number {
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kUnsigned, kFloat, kText };
  union {
    std::int64_t integer = 0;
    std::uint64_t whole;
    double real;
  };
  float single = 0;
  Kind kind = Kind::kNull;

  static Number null() { return {}; }
  static Number of(bool value);
  static Number of(std::int64_t value);
  static Number of(std::uint64_t value);
  static Number of(double value, const std::string& text);
  // "NaN", "Infinity", "-inf" and their like; kText when it is none of these.
  static Number of_word(std::string_view word);
};

// Writes `numbers` as elements of `dtype`. Throws ASSAY_DATA_LOSS naming output and element for a
// null (a NaN or infinity that was lost), a text, and what `dtype` cannot hold exactly.
void store_numbers(const std::vector<Number>& numbers, assay::backend::DType dtype,
                   const std::string& output, void* memory);

// Appends the elements of an input, separated by commas. Throws ASSAY_INVALID_ARGUMENT naming input
// and element for NaN and infinity, which JSON has not.
void append_numbers(const assay_tensor& input, std::string& text);

}  // namespace kserve
