#pragma once

// How far a backend's outputs are from the reference's: per output over all samples, and the worst
// samples by id. Every element is read once, whatever the batch size was; the result does not
// depend on the host's vector width. Definitions: docs/reference/numeric.md.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "check/output_store.h"
#include "tensor/tensor.h"

namespace assay::check {

struct NumericOptions {
  // An element is within tolerance when |got - ref| <= atol + rtol * |ref|. Relative and ulp
  // figures are over elements with |ref| >= atol and ref != 0; the others are held to atol alone.
  double atol = 1e-6;
  double rtol = 1e-5;
  // Floating outputs are measured in the last place of the coarsest of: reference dtype, backend
  // dtype, and this, the precision that the backend executed in.
  std::optional<DType> executed_precision;
  // Outputs (by name) that are class scores: top-1 and top-5 agreement is counted for them.
  std::vector<std::string> class_scores;
  std::size_t worst_samples = 8;
  // What costs more time than all other figures together; off, it is empty in the result.
  bool ulp_distribution = true;  // p50 and p99 of UlpDistance
  bool plots = true;             // signed_difference and magnitude
};

// Counts of values in equal steps around 0: bin i covers [low + i*step, low + (i+1)*step).
struct SignedHistogram {
  double low = 0.0;
  double step = 0.0;  // 0 when every value was 0, or nothing was counted
  std::vector<std::uint64_t> counts;
};

// Counts of magnitudes by powers of two: bin i covers [2^(low_exponent+i), 2^(low_exponent+i+1)).
// Exact zeros apart; the first and last bin take what is beyond them.
struct MagnitudeHistogram {
  int low_exponent = 0;
  std::uint64_t zeros = 0;
  std::vector<std::uint64_t> counts;
};

struct WorstSample {
  std::uint64_t sample_id = 0;
  std::uint64_t element = 0;  // index within the output of that sample
  double reference = 0.0;     // may be NaN or Inf
  double got = 0.0;
  double max_abs = 0.0;  // Inf when it is a non-finite mismatch
  std::uint64_t nonfinite_mismatches = 0;
};

// |got - ref| in units in the last place of `unit` at the reference, so that a result which is
// right to the last place of a coarser type is at most half a unit away.
struct UlpDistance {
  DType unit = DType::kFloat32;
  // Nearest rank; exact for whole numbers up to 128, else up to 1/64 low. Empty without
  // ulp_distribution.
  std::optional<double> p50;
  std::optional<double> p99;
  double max = 0.0;
};

// Everything is over compared elements: those finite on both sides. Optionals are empty when
// nothing was compared, when the figure has no meaning, or when it overflows a double.
struct NumericResult {
  std::string output;
  DType reference_dtype = DType::kFloat32;
  DType dtype = DType::kFloat32;
  Shape shape;  // per sample
  std::uint64_t samples = 0;
  std::uint64_t elements = 0;
  std::uint64_t compared = 0;
  std::uint64_t nonfinite_mismatches = 0;  // NaN or Inf on one side, or Inf of the other sign
  std::uint64_t nan_both = 0;              // excluded
  std::uint64_t inf_both = 0;              // same sign: equal, excluded from the figures
  std::uint64_t differing = 0;             // compared elements that are not equal (-0 equals +0)
  std::uint64_t samples_differing = 0;
  bool identical = false;  // no element differs and none mismatches
  std::optional<double> max_abs;
  std::optional<double> mean_abs;
  std::optional<double> std_abs;      // of |got - ref|, population
  std::optional<double> mean_signed;  // of got - ref: bias
  std::optional<double> rmse;
  std::uint64_t relative_elements = 0;  // those that relative and ulp figures are over
  std::optional<double> max_rel;
  std::optional<double> mean_rel;
  std::optional<double> outside_tolerance;  // fraction; for integers, of elements that differ
  std::optional<double> cosine;             // over all elements
  std::optional<double> min_sample_cosine;
  std::optional<double> snr_db;    // empty and `identical`: infinite
  std::optional<UlpDistance> ulp;  // floating outputs only
  std::optional<double> top1_agreement;
  std::optional<double> top5_agreement;  // mean share of the reference's five best that are kept
  std::vector<WorstSample> worst;        // worst first; samples that differ only
  SignedHistogram signed_difference;
  MagnitudeHistogram magnitude;  // of |got - ref|
  double atol = 0.0;
  double rtol = 0.0;
};

// Ok when the two may be compared; kFailedPrecondition naming both sides when names or shapes
// differ, or one is floating and the other not. That is a failure of the backend, never a reshape.
Status check_comparable(const TensorSpec& reference, const TensorSpec& got);

// Accumulates one output. One thread at a time; memory does not grow with samples.
class NumericComparison {
 public:
  // Specs per sample, concrete. Errors of check_comparable; kInvalidArgument for a tolerance that
  // is negative or not a number.
  static Result<NumericComparison> create(const TensorSpec& reference, const TensorSpec& got,
                                          const NumericOptions& options);
  NumericComparison(NumericComparison&&) noexcept;
  NumericComparison& operator=(NumericComparison&&) noexcept;
  ~NumericComparison();

  // The outputs of one sample. kInvalidArgument for a byte size that the spec does not have.
  Status add(std::uint64_t sample_id, std::span<const std::byte> reference,
             std::span<const std::byte> got);

  NumericResult finish() const;

 private:
  struct State;
  explicit NumericComparison(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct NumericReport {
  std::vector<NumericResult> outputs;
  std::uint64_t samples = 0;          // compared
  std::uint64_t missing_samples = 0;  // on one side only, or on neither
  bool identical = false;             // every output of every sample, and none missing
};

// Compares every sample that both stores have. Errors as NumericComparison, kFailedPrecondition
// when the outputs or the number of samples differ, or no sample is on both sides.
Result<NumericReport> compare_stores(OutputReader& reference, OutputReader& got,
                                     const NumericOptions& options);

// One element of result.json's `numeric`, by the names of formats.md. Figures that are not finite
// become null.
Json to_json(const NumericResult& result);

// A value that may not be finite, which JSON has no number for: then "NaN", "Infinity",
// "-Infinity".
Json value_json(double value);

// "Mean Diff", "Std Diff", "Max Diff", "Max Rel-Diff", "Mean Rel-Diff" over all outputs together,
// unrounded, null where nothing was compared.
Json legacy_difference(const std::vector<NumericResult>& outputs);

}  // namespace assay::check
