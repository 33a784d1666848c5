#include "controller/bisect_tolerance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "check/elements.h"
#include "check/numeric.h"
#include "controller/declared_precision.h"

namespace assay::controller {
namespace {

// With the allowance it is sqrt(1024) of 2^-24, what another order of a sum of 1024 products may do
// (docs/reference/noise-floor.md).
constexpr double kFloat32CutUnit = 0x1p-21;

struct PrecisionRow {
  std::string_view name;
  double unit;
  NoiseScope scope;
  DType dtype;
};
constexpr std::array<PrecisionRow, 5> kPrecisions = {{
    {"INT8", kInt8Unit, NoiseScope::kTensor, DType::kInt8},
    {"FP8", kFloat8Unit, NoiseScope::kElement, DType::kFloat8E4M3},
    {"BF16", kBFloat16Unit, NoiseScope::kElement, DType::kBFloat16},
    {"FP16", kFloat16Unit, NoiseScope::kElement, DType::kFloat16},
    {"FP32", kFloat32CutUnit, NoiseScope::kElement, DType::kFloat32},
}};

std::vector<double> doubles_of(const TensorView& tensor) {
  std::vector<double> values(tensor.bytes.size() / size_of(tensor.spec.dtype));
  check::load_doubles(tensor.spec.dtype, tensor.bytes, values.data());
  return values;
}

double largest_magnitude(const TensorView& tensor) {
  double largest = 0;
  for (const double value : doubles_of(tensor)) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

double ulp_of(double magnitude, DType floating) {
  const check::FloatFormat format = check::format_of(floating);
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : format.exponent_min;
  return std::ldexp(1.0, std::max(exponent, format.exponent_min) - format.significand_bits + 1);
}

Result<check::NumericResult> compare_values(const Tensor& reference, const Tensor& got) {
  check::NumericOptions options;
  options.worst_samples = 1;
  options.ulp_distribution = options.plots = false;
  ASSIGN_OR_RETURN(check::NumericComparison comparison,
                   check::NumericComparison::create(reference.spec(), got.spec(), options));
  RETURN_IF_ERROR(comparison.add(0, reference.bytes(), got.bytes()));
  return comparison.finish();
}

template <typename T>
void move_elements(std::span<T> values, const BisectPrecision& precision, std::mt19937_64& random) {
  std::uniform_real_distribution<double> shift(-precision.unit, precision.unit);
  double largest = 0;
  for (const T value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(double{value}));
  }
  for (T& value : values) {
    const double scale = precision.scope == NoiseScope::kTensor ? largest : double{value};
    const double moved = double{value} + scale * shift(random);
    if (std::isfinite(static_cast<T>(moved))) value = static_cast<T>(moved);
  }
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

BisectPrecision bisect_precision(std::string_view declared) {
  const std::string_view named = coarsest_precision(declared);
  const auto* found = std::ranges::find(kPrecisions, named, &PrecisionRow::name);
  const PrecisionRow& row = found == kPrecisions.end() ? kPrecisions.back() : *found;
  return {std::string(row.name), row.unit, row.scope, row.dtype};
}

double tolerance_floor(const TensorView& reference, const BisectPrecision& precision) {
  const DType dtype = reference.spec.dtype;
  const bool quantised = precision.dtype == DType::kInt8;
  if (!is_floating(dtype)) return quantised && size_of(dtype) == 1 && dtype != DType::kBool ? 1 : 0;
  const double largest = largest_magnitude(reference);
  if (quantised) return kToleranceFloorUlps * kInt8Unit * largest;
  return kToleranceFloorUlps * ulp_of(largest, check::coarser(dtype, precision.dtype));
}

double TensorDifference::excess() const {
  if (!deviates()) return 0;
  if (!mismatch.empty() || nonfinite > 0 || tolerance <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  return max_abs / tolerance;
}

TensorDifference compare_tensor(const Tensor& reference, const Tensor* got,
                                const BisectPrecision& precision) {
  TensorDifference difference;
  difference.tensor = reference.spec().name;
  difference.spec = to_string(reference.spec());
  difference.floor = difference.tolerance = tolerance_floor(reference.view(), precision);
  difference.reference_magnitude = largest_magnitude(reference.view());
  if (got == nullptr) {
    difference.mismatch = "the backend gives no such output";
    return difference;
  }
  const Result<check::NumericResult> compared = compare_values(reference, *got);
  if (!compared.ok()) {
    difference.mismatch = compared.status().message();
    return difference;
  }
  difference.max_abs = compared->max_abs.value_or(0);
  difference.nonfinite = compared->nonfinite_mismatches;
  if (!compared->worst.empty()) {
    difference.element = compared->worst.front().element;
    difference.reference = compared->worst.front().reference;
    difference.got = compared->worst.front().got;
  }
  return difference;
}

double largest_difference(const Tensor& reference, const Tensor& variant) {
  const Result<check::NumericResult> compared = compare_values(reference, variant);
  return compared.ok() ? compared->max_abs.value_or(0) : 0;
}

Result<TensorSet> moved_inputs(const TensorSet& inputs, const BisectPrecision& precision,
                               std::uint64_t seed) {
  ASSIGN_OR_RETURN(TensorSet moved, copy_of(inputs));
  std::mt19937_64 random(seed);
  for (auto& [name, tensor] : moved) {
    if (tensor.spec().dtype == DType::kFloat32) {
      move_elements(tensor.as<float>(), precision, random);
    } else if (tensor.spec().dtype == DType::kFloat64) {
      move_elements(tensor.as<double>(), precision, random);
    }
  }
  return moved;
}

Result<Tensor> copy_of(const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor copy, Tensor::make(tensor.spec()));
  std::ranges::copy(tensor.bytes(), copy.bytes().begin());
  return copy;
}

Result<TensorSet> copy_of(const TensorSet& tensors) {
  TensorSet copies;
  for (const auto& [name, tensor] : tensors) {
    ASSIGN_OR_RETURN(Tensor copy, copy_of(tensor));
    copies.emplace(name, std::move(copy));
  }
  return copies;
}

std::string index_text(std::uint64_t element, const Shape& shape) {
  std::vector<std::uint64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(shape[axis], 1));
    index[axis] = element % size;
    element /= size;
  }
  return fmt::format("[{}]", fmt::join(index, ","));
}

Json to_json(const TensorDifference& difference) {
  return {{"tensor", difference.tensor},
          {"spec", difference.spec},
          {"deviates", difference.deviates()},
          {"tolerance", finite_or_null(difference.tolerance)},
          {"tolerance_floor", finite_or_null(difference.floor)},
          {"tolerance_noise", finite_or_null(difference.noise)},
          {"max_abs", finite_or_null(difference.max_abs)},
          {"nonfinite_mismatches", difference.nonfinite},
          {"element", difference.element},
          {"reference", check::value_json(difference.reference)},
          {"got", check::value_json(difference.got)},
          {"reference_magnitude", finite_or_null(difference.reference_magnitude)},
          {"mismatch", difference.mismatch}};
}

}  // namespace assay::controller
