#include "controller/declared_precision.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace assay::controller {
namespace {

struct PrecisionWord {
  const char* word;
  const char* precision;  // "" for what we have no bound of
};
// The coarsest first. "BFLOAT16" has "FLOAT16" in it, and is looked for before.
constexpr std::array<PrecisionWord, 17> kWords = {{
    {"INT2", ""},
    {"INT4", ""},
    {"NF4", ""},
    {"FP4", ""},
    {"FLOAT4", ""},
    {"INT8", "INT8"},
    {"FP8", "FP8"},
    {"FLOAT8", "FP8"},
    {"BF16", "BF16"},
    {"BFLOAT16", "BF16"},
    {"FP16", "FP16"},
    {"FLOAT16", "FP16"},
    {"TF32", "FP16"},
    {"HALF", "FP16"},
    {"INT16", ""},
    {"FP32", "FP32"},
    {"FLOAT32", "FP32"},
}};

}  // namespace

std::string_view coarsest_precision(std::string_view declared) {
  std::string text(declared);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const PrecisionWord& each : kWords) {
    if (text.find(each.word) != std::string::npos) return each.precision;
  }
  return "";
}

}  // namespace assay::controller
