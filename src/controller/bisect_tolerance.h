#pragma once

// How far a tensor of a cut may be from the reference's before it counts as wrong.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/onnx_rounding.h"
#include "tensor/tensor.h"

namespace assay::controller {

// Tensors by name.
using TensorSet = std::map<std::string, Tensor>;

// What a backend computes in, as far as rounding goes.
struct BisectPrecision {
  std::string name;  // "FP32", "FP16", "BF16", "FP8", "INT8"
  double unit = 0;   // of RoundingNoise
  NoiseScope scope = NoiseScope::kElement;
  DType dtype = DType::kFloat32;  // whose last place the floor counts; kInt8 for INT8
};

// The coarsest one that `declared` names (controller/declared_precision.h); FP32 when it names
// none.
BisectPrecision bisect_precision(std::string_view declared);

// Largest differences that healthy variants of a cut show are taken times this.
inline constexpr double kToleranceAllowance = 4;
// No tolerance is less than so many units in the last place of the tensor's largest magnitude.
inline constexpr double kToleranceFloorUlps = 4;

// The least tolerance of `reference`: kToleranceFloorUlps units in the last place of its largest
// finite magnitude, in the coarser of its own dtype and the precision's; for INT8 so many half
// steps of a quantiser over that magnitude. Integers: 0, but 1 for 8 bits in INT8.
double tolerance_floor(const TensorView& reference, const BisectPrecision& precision);

// One output of a cut, held against the reference's.
struct TensorDifference {
  std::string tensor;
  std::string spec;             // as the reference gives it
  double tolerance = 0;         // on |got - reference|
  double floor = 0;             // of the tolerance
  double noise = 0;             // largest difference among healthy variants; 0 when none were run
  double max_abs = 0;           // over elements that are finite on both sides
  std::uint64_t nonfinite = 0;  // NaN or Inf on one side, or Inf of the other sign
  std::uint64_t element = 0;    // the worst one, counted row-major, and its values
  double reference = 0;
  double got = 0;
  double reference_magnitude = 0;  // largest finite one of the tensor
  std::string mismatch;            // what differs beyond values: shape, kind, name; else ""

  bool deviates() const { return !mismatch.empty() || nonfinite > 0 || max_abs > tolerance; }
  // How far beyond its tolerance; infinite for what no tolerance allows.
  double excess() const;
};

// Compares; the tolerance is the floor. Never fails: what cannot be compared is a mismatch.
TensorDifference compare_tensor(const Tensor& reference, const Tensor* got,
                                const BisectPrecision& precision);

// Largest |variant - reference| over elements that are finite on both sides; 0 when the two cannot
// be compared.
double largest_difference(const Tensor& reference, const Tensor& variant);

// Moves each element of floating tensors by up to `precision.unit`, as RoundingNoise says: another
// rounding of the same inputs. FLOAT32 and FLOAT64; copies of the others are as they were.
Result<TensorSet> moved_inputs(const TensorSet& inputs, const BisectPrecision& precision,
                               std::uint64_t seed);

Result<Tensor> copy_of(const Tensor& tensor);
Result<TensorSet> copy_of(const TensorSet& tensors);

// Row-major index of an element as "[0,3,1]".
std::string index_text(std::uint64_t element, const Shape& shape);

Json to_json(const TensorDifference& difference);

}  // namespace assay::controller
