// Compares pairs of .npy files and prints the results.
//
// usage: compare_arrays < CASES.json
//
// CASES is an array of {"reference", "got": paths of version 1.0, "reference_dtype", "dtype": names
// of ours, "shape": of one sample, "samples", "atol", "rtol", "executed_precision": optional,
// "class_scores": bool}. Prints an array: for each the result as in result.json, with "verdict" and
// "reason" of its judgement; or {"error": ...}.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "check/numeric.h"
#include "check/numeric_verdict.h"

namespace assay {
namespace {

// The elements of a .npy file; whoever calls knows dtype and shape.
Result<std::string> read_elements(const std::string& path) {
  constexpr std::size_t kFixed = 10;  // magic, version, length of the header
  const Result<std::string> file = read_file(path);
  RETURN_IF_ERROR(file.status());
  if (file->size() < kFixed || !file->starts_with("\x93NUMPY\x01")) {
    return invalid_argument(path + " is not a .npy file of version 1");
  }
  std::uint16_t header_size = 0;
  std::memcpy(&header_size, file->data() + 8, sizeof(header_size));
  return file->substr(kFixed + header_size);
}

Result<TensorSpec> spec_of(const Json& test, const char* dtype_key) {
  ASSIGN_OR_RETURN(const DType dtype, parse_dtype(test.at(dtype_key).get<std::string>()));
  return TensorSpec{"y", dtype, test.at("shape").get<Shape>()};
}

Result<check::NumericOptions> options_of(const Json& test) {
  check::NumericOptions options;
  options.atol = test.at("atol").get<double>();
  options.rtol = test.at("rtol").get<double>();
  if (test.at("class_scores").get<bool>()) options.class_scores = {"y"};
  if (test.contains("executed_precision")) {
    ASSIGN_OR_RETURN(options.executed_precision,
                     parse_dtype(test["executed_precision"].get<std::string>()));
  }
  return options;
}

Result<Json> compare(const Json& test) {
  ASSIGN_OR_RETURN(const TensorSpec ref_spec, spec_of(test, "reference_dtype"));
  ASSIGN_OR_RETURN(const TensorSpec got_spec, spec_of(test, "dtype"));
  ASSIGN_OR_RETURN(const check::NumericOptions options, options_of(test));
  ASSIGN_OR_RETURN(check::NumericComparison comparison,
                   check::NumericComparison::create(ref_spec, got_spec, options));
  ASSIGN_OR_RETURN(const std::string ref, read_elements(test.at("reference").get<std::string>()));
  ASSIGN_OR_RETURN(const std::string got, read_elements(test.at("got").get<std::string>()));
  const auto samples = test.at("samples").get<std::size_t>();
  const std::size_t ref_step = ref.size() / samples;
  const std::size_t got_step = got.size() / samples;
  for (std::size_t i = 0; i < samples; ++i) {
    RETURN_IF_ERROR(comparison.add(i, std::as_bytes(std::span(ref).subspan(i * ref_step, ref_step)),
                                   std::as_bytes(std::span(got).subspan(i * got_step, got_step))));
  }
  const check::NumericResult result = comparison.finish();
  const check::NumericVerdict verdict = check::judge_numeric(result, {.tolerance_named = true});
  Json json = check::to_json(result);
  json["verdict"] = name_of(verdict.verdict);
  json["reason"] = verdict.reason;
  return json;
}

int run() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  Json results = Json::array();
  for (const Json& test : Json::parse(text)) {
    const Result<Json> result = compare(test);
    results.push_back(result.ok() ? *result : Json{{"error", result.status().to_string()}});
  }
  fmt::print("{}\n", results.dump());
  return 0;
}

}  // namespace
}  // namespace assay

int main() {
  try {
    return assay::run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "compare_arrays: {}\n", error.what());
    return 1;
  }
}
