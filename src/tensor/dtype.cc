#include "tensor/dtype.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace assay {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::size_t size_bytes;
  bool floating;
};

constexpr std::array<Row, 14> kTable = {{
    {DType::kFloat64, "FLOAT64", 8, true},
    {DType::kFloat32, "FLOAT32", 4, true},
    {DType::kFloat16, "FLOAT16", 2, true},
    {DType::kBFloat16, "BFLOAT16", 2, true},
    {DType::kFloat8E4M3, "FP8", 1, true},
    {DType::kInt64, "INT64", 8, false},
    {DType::kInt32, "INT32", 4, false},
    {DType::kInt16, "INT16", 2, false},
    {DType::kInt8, "INT8", 1, false},
    {DType::kUInt8, "UINT8", 1, false},
    {DType::kBool, "BOOL", 1, false},
    {DType::kUInt16, "UINT16", 2, false},
    {DType::kUInt32, "UINT32", 4, false},
    {DType::kUInt64, "UINT64", 8, false},
}};

struct Synonym {
  std::string_view name;
  DType dtype;
};

constexpr std::array<Synonym, 10> kSynonyms = {{
    {"LONG", DType::kInt64},
    {"FLOAT8E4M3", DType::kFloat8E4M3},
    {"FP16", DType::kFloat16},
    {"HALF", DType::kFloat16},
    {"BF16", DType::kBFloat16},
    {"FP32", DType::kFloat32},
    {"FLOAT", DType::kFloat32},
    {"FP64", DType::kFloat64},
    {"DOUBLE", DType::kFloat64},
    {"INT", DType::kInt32},
}};

const Row& row_of(DType dtype) { return kTable[static_cast<std::size_t>(dtype) - 1]; }

}  // namespace

std::size_t size_of(DType dtype) { return row_of(dtype).size_bytes; }
std::string_view name_of(DType dtype) { return row_of(dtype).name; }
bool is_floating(DType dtype) { return row_of(dtype).floating; }
bool is_dtype(std::uint32_t number) { return number >= 1 && number <= kTable.size(); }

Result<DType> parse_dtype(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const Row& row : kTable) {
    if (row.name == upper) return row.dtype;
  }
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.name == upper) return synonym.dtype;
  }
  return invalid_argument(
      fmt::format("\"{}\" is not a dtype; accepted: FLOAT64 FLOAT32 FLOAT16 BFLOAT16 FP8 INT64 "
                  "LONG INT32 INT16 "
                  "INT8 UINT8 BOOL",
                  name));
}

}  // namespace assay
