#include "drill/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace assay::drill {
namespace {

// Little-endian bit patterns of one dtype.
struct Patterns {
  DType dtype;
  std::array<std::uint64_t, 4> plain;
  std::array<std::uint64_t, 2> extreme;  // largest and smallest finite
};
constexpr std::array<Patterns, 14> kPatterns = {{
    {DType::kFloat64,
     {0, 0x3FF0000000000000, 0x3FE0000000000000, 0x4000000000000000},
     {0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF}},
    {DType::kFloat32, {0, 0x3F800000, 0x3F000000, 0x40000000}, {0x7F7FFFFF, 0xFF7FFFFF}},
    {DType::kFloat16, {0, 0x3C00, 0x3800, 0x4000}, {0x7BFF, 0xFBFF}},
    {DType::kBFloat16, {0, 0x3F80, 0x3F00, 0x4000}, {0x7F7F, 0xFF7F}},
    {DType::kFloat8E4M3, {0, 0x38, 0x30, 0x40}, {0x7E, 0xFE}},
    {DType::kInt64, {0, 1, 1, 0}, {0x7FFFFFFFFFFFFFFF, 0x8000000000000000}},
    {DType::kInt32, {0, 1, 1, 0}, {0x7FFFFFFF, 0x80000000}},
    {DType::kInt16, {0, 1, 1, 0}, {0x7FFF, 0x8000}},
    {DType::kInt8, {0, 1, 1, 0}, {0x7F, 0x80}},
    {DType::kUInt8, {0, 1, 1, 0}, {0xFF, 0}},
    {DType::kBool, {0, 1, 1, 0}, {1, 0}},
    {DType::kUInt16, {0, 1, 1, 0}, {0xFFFF, 0}},
    {DType::kUInt32, {0, 1, 1, 0}, {0xFFFFFFFF, 0}},
    {DType::kUInt64, {0, 1, 1, 0}, {0xFFFFFFFFFFFFFFFF, 0}},
}};

Result<Patterns> patterns_of(DType dtype) {
  const auto* const found = std::ranges::find(kPatterns, dtype, &Patterns::dtype);
  if (found != kPatterns.end()) return *found;
  return internal_error(fmt::format("no values for {}", name_of(dtype)));
}

Json to_json(const std::vector<Tensor>& tensors) {
  Json list = Json::array();
  for (const Tensor& tensor : tensors) {
    Json bytes = Json::array();
    for (const std::byte byte : tensor.bytes()) bytes.push_back(std::to_integer<int>(byte));
    list.push_back({{"name", tensor.spec().name},
                    {"dtype", name_of(tensor.spec().dtype)},
                    {"shape", tensor.spec().shape},
                    {"bytes", std::move(bytes)}});
  }
  return list;
}

Result<std::vector<Tensor>> tensors_from_json(const Json& list) {
  std::vector<Tensor> tensors;
  for (const Json& json : list) {
    ASSIGN_OR_RETURN(const DType dtype, parse_dtype(json.at("dtype").get<std::string>()));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::make({json.at("name").get<std::string>(), dtype,
                                                  json.at("shape").get<Shape>()}));
    const auto bytes = json.at("bytes").get<std::vector<std::uint8_t>>();
    if (bytes.size() != tensor.bytes().size()) {
      return data_loss(fmt::format("{}: got {} bytes", to_string(tensor.spec()), bytes.size()));
    }
    std::ranges::copy(std::as_bytes(std::span(bytes)), tensor.bytes().begin());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// `pick(k)` gives the tensors of the sample that is row k of the batch.
template <typename Pick>
Result<std::vector<Tensor>> stacked(std::int64_t count, Pick pick) {
  std::vector<Tensor> batch;
  for (std::size_t i = 0; i < pick(0).size(); ++i) {
    TensorSpec spec = pick(0)[i].spec();
    ASSIGN_OR_RETURN(spec.shape, with_batch(spec.shape, count));
    ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(std::move(spec)));
    auto at = tensor.bytes().begin();
    for (std::int64_t row = 0; row < count; ++row) {
      at = std::ranges::copy(pick(static_cast<std::size_t>(row))[i].bytes(), at).out;
    }
    batch.push_back(std::move(tensor));
  }
  return batch;
}

}  // namespace

Json to_json(const Case& one) {
  return {{"inputs", to_json(one.inputs)}, {"outputs", to_json(one.outputs)}};
}

Result<Case> case_from_json(const Json& json) {
  try {
    Case one;
    ASSIGN_OR_RETURN(one.inputs, tensors_from_json(json.at("inputs")));
    ASSIGN_OR_RETURN(one.outputs, tensors_from_json(json.at("outputs")));
    return one;
  } catch (const Json::exception& error) {
    return data_loss(fmt::format("case: {}", error.what()));
  }
}

Result<std::vector<Tensor>> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) {
    ASSIGN_OR_RETURN(Tensor copy, Tensor::make(tensor.spec()));
    std::ranges::copy(tensor.bytes(), copy.bytes().begin());
    copies.push_back(std::move(copy));
  }
  return copies;
}

Result<Case> copy_of(const Case& one) {
  Case copy;
  ASSIGN_OR_RETURN(copy.inputs, copies_of(one.inputs));
  ASSIGN_OR_RETURN(copy.outputs, copies_of(one.outputs));
  return copy;
}

Result<Tensor> tensor_with(TensorSpec spec, const Values& values) {
  ASSIGN_OR_RETURN(const Patterns patterns, patterns_of(spec.dtype));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::make(std::move(spec)));
  std::vector<std::uint64_t> sequence(patterns.plain.begin(), patterns.plain.end());
  if (values.extremes) {
    sequence.insert(sequence.end(), patterns.extreme.begin(), patterns.extreme.end());
  }
  const std::size_t width = size_of(tensor.spec().dtype);
  const std::size_t count = tensor.bytes().size() / width;
  for (std::size_t i = 0; i < count; ++i) {
    // The step by i / 4 keeps rows of four from being alike.
    const std::uint64_t pattern = sequence[(i + i / 4 + values.seed) % sequence.size()];
    std::memcpy(tensor.bytes().data() + i * width, &pattern, width);
  }
  return tensor;
}

Result<Case> batch_of(const std::vector<Case>& samples, std::size_t first, std::int64_t count) {
  if (samples.empty() || count < 1) return invalid_argument("a batch needs samples");
  const auto sample = [&](std::size_t row) -> const Case& {
    return samples[(first + row) % samples.size()];
  };
  Case batch;
  ASSIGN_OR_RETURN(batch.inputs, stacked(count, [&](std::size_t row) -> const std::vector<Tensor>& {
                     return sample(row).inputs;
                   }));
  ASSIGN_OR_RETURN(batch.outputs,
                   stacked(count, [&](std::size_t row) -> const std::vector<Tensor>& {
                     return sample(row).outputs;
                   }));
  return batch;
}

std::string difference(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  if (got.size() != wanted.size()) {
    return fmt::format("got {} outputs, wanted {}", got.size(), wanted.size());
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].spec() != wanted[i].spec()) {
      return fmt::format("output: got {}, wanted {}", to_string(got[i].spec()),
                         to_string(wanted[i].spec()));
    }
    const auto a = got[i].bytes();
    const auto b = wanted[i].bytes();
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
    if (at == a.size()) continue;
    return fmt::format("output \"{}\", byte {} of {}: got {:#04x}, wanted {:#04x}",
                       got[i].spec().name, at, a.size(), std::to_integer<int>(a[at]),
                       std::to_integer<int>(b[at]));
  }
  return {};
}

}  // namespace assay::drill
