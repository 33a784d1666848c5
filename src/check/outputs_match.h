#pragma once

// Did a timed run still compute what the accuracy run computed? Sampled outputs of the first are
// held against the second's for the same sample; a run whose outputs drift loses its figures.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::check {

// The largest difference, as a share of the sample's largest magnitude in that output, that another
// batch size, thread count or neighbour may cause by rounding alone: sums are taken in another
// order, so the error scales with the values that were summed, not with a small result.
//   FLOAT64 1e-9, FLOAT32 1e-3, FLOAT16 and BFLOAT16 2e-2, FP8 and reduced integer arithmetic 5e-2
// Integer outputs: 0, they must be equal.
double default_match_tolerance(DType output, std::optional<DType> executed_precision);

struct MatchOptions {
  std::optional<DType> executed_precision;  // INT8 for a quantised model
  std::optional<double> tolerance;          // instead of the default, for floating outputs
};

enum class MatchVerdict { kIdentical, kWithinTolerance, kDrifted, kNothingCompared };
std::string_view name_of(MatchVerdict verdict);

struct MatchResult {
  MatchVerdict verdict = MatchVerdict::kNothingCompared;
  std::string reason;          // one sentence, with the worst sample when drifted
  std::uint64_t compared = 0;  // pairs of one sample's output
  std::uint64_t bit_identical = 0;
  std::uint64_t within_tolerance = 0;
  std::uint64_t drifted = 0;
  double max_abs = 0.0;     // over finite pairs
  double max_scaled = 0.0;  // max_abs of a sample by its largest magnitude, the largest of those
  double tolerance = 0.0;   // the widest that was used
  std::optional<std::uint64_t> first_drifted_sample;
  std::string first_drifted_output;
};
Json to_json(const MatchResult& result);

// One thread at a time; memory does not grow.
class OutputsMatch {
 public:
  // Per-sample specs, concrete. kInvalidArgument otherwise.
  static Result<OutputsMatch> create(std::vector<TensorSpec> outputs, const MatchOptions& options);
  OutputsMatch(OutputsMatch&&) noexcept;
  OutputsMatch& operator=(OutputsMatch&&) noexcept;
  ~OutputsMatch();

  // The bytes of one sample's output in both runs. kInvalidArgument for a byte size that the spec
  // does not have, kOutOfRange for the index.
  Status add(std::uint64_t sample_id, std::size_t output_index,
             std::span<const std::byte> accuracy_run, std::span<const std::byte> timed_run);

  MatchResult finish() const;

 private:
  struct State;
  explicit OutputsMatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::check
