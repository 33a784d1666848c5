#include "check/outputs_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "check/numeric_block.h"

namespace assay::check {
namespace {

struct ToleranceOf {
  DType dtype;
  double tolerance;
};
constexpr ToleranceOf kFloating[] = {
    {DType::kFloat64, 1e-9},  {DType::kFloat32, 1e-3},    {DType::kFloat16, 2e-2},
    {DType::kBFloat16, 2e-2}, {DType::kFloat8E4M3, 5e-2},
};
constexpr double kReducedInteger = 5e-2;

double floating_tolerance(DType dtype) {
  for (const ToleranceOf& row : kFloating) {
    if (row.dtype == dtype) return row.tolerance;
  }
  return kReducedInteger;
}

// How one sample's output compares.
struct PairDifference {
  std::uint64_t mismatches = 0;
  double max_abs = 0.0;
  double magnitude = 0.0;  // largest of the accuracy run's

  double scaled() const {
    if (max_abs == 0.0) return 0.0;
    return magnitude > 0.0 ? max_abs / magnitude : std::numeric_limits<double>::infinity();
  }
};

PairDifference difference_of(DType dtype, std::span<const std::byte> accuracy_run,
                             std::span<const std::byte> timed_run, Block& block) {
  PairDifference pair;
  const std::size_t step = kBlockElements * size_of(dtype);
  for (std::size_t first = 0; first < accuracy_run.size(); first += step) {
    const std::size_t size = std::min(step, accuracy_run.size() - first);
    load_block(dtype, accuracy_run.subspan(first, size), dtype, timed_run.subspan(first, size),
               block);
    pair.mismatches += compact(block).mismatches;
    const auto largest = [&](const auto& values) {
      return largest_magnitude(std::span(values).first(block.size));
    };
    pair.max_abs = std::max(pair.max_abs, largest(block.diff));
    pair.magnitude = std::max(pair.magnitude, largest(block.ref));
  }
  return pair;
}

Json finite_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace

double default_match_tolerance(DType output, std::optional<DType> executed_precision) {
  if (!is_floating(output)) return 0.0;
  const double own = floating_tolerance(output);
  return executed_precision ? std::max(own, floating_tolerance(*executed_precision)) : own;
}

std::string_view name_of(MatchVerdict verdict) {
  switch (verdict) {
    case MatchVerdict::kIdentical:
      return "identical";
    case MatchVerdict::kWithinTolerance:
      return "within tolerance";
    case MatchVerdict::kDrifted:
      return "drifted";
    case MatchVerdict::kNothingCompared:
      break;
  }
  return "nothing compared";
}

struct OutputsMatch::State {
  std::vector<TensorSpec> outputs;
  std::vector<std::size_t> sizes;
  std::vector<double> tolerances;
  Block block;
  MatchResult result;
  std::string first_drift;  // said of the first pair that drifted

  void add_pair(std::uint64_t sample_id, std::size_t output, const PairDifference& pair) {
    result.max_abs = std::max(result.max_abs, pair.max_abs);
    result.max_scaled = std::max(result.max_scaled, pair.scaled());
    if (pair.mismatches == 0 && pair.scaled() <= tolerances[output]) {
      ++result.within_tolerance;
      return;
    }
    if (result.drifted++ > 0) return;
    result.first_drifted_sample = sample_id;
    result.first_drifted_output = outputs[output].name;
    first_drift =
        pair.mismatches > 0
            ? fmt::format("{} elements are NaN or infinite in one run only", pair.mismatches)
            : fmt::format(
                  "a difference of {:.4g} where the largest value is {:.4g}, allowed {:.4g}",
                  pair.max_abs, pair.magnitude, tolerances[output] * pair.magnitude);
  }

  MatchVerdict verdict() const {
    if (result.compared == 0) return MatchVerdict::kNothingCompared;
    if (result.drifted > 0) return MatchVerdict::kDrifted;
    return result.bit_identical == result.compared ? MatchVerdict::kIdentical
                                                   : MatchVerdict::kWithinTolerance;
  }

  std::string reason() const {
    switch (verdict()) {
      case MatchVerdict::kNothingCompared:
        return "no output of the timed run was compared";
      case MatchVerdict::kIdentical:
        return fmt::format("all {} compared outputs equal the accuracy run's bit by bit",
                           result.compared);
      case MatchVerdict::kWithinTolerance:
        return fmt::format(
            "{} of {} compared outputs differ from the accuracy run's by rounding, at most {:.4g}",
            result.within_tolerance, result.compared, result.max_abs);
      case MatchVerdict::kDrifted:
        break;
    }
    return fmt::format(
        "{} of {} compared outputs are not the accuracy run's; first sample {}, "
        "output \"{}\": {}",
        result.drifted, result.compared, *result.first_drifted_sample, result.first_drifted_output,
        first_drift);
  }
};

Result<OutputsMatch> OutputsMatch::create(std::vector<TensorSpec> outputs,
                                          const MatchOptions& options) {
  if (options.tolerance && !(*options.tolerance >= 0.0)) {
    return invalid_argument(fmt::format("tolerance {} is negative", *options.tolerance));
  }
  auto state = std::make_unique<State>();
  for (const TensorSpec& spec : outputs) {
    ASSIGN_OR_RETURN(const std::size_t size, byte_size(spec));
    const double own = default_match_tolerance(spec.dtype, options.executed_precision);
    const double tolerance = is_floating(spec.dtype) ? options.tolerance.value_or(own) : own;
    state->sizes.push_back(size);
    state->tolerances.push_back(tolerance);
    state->result.tolerance = std::max(state->result.tolerance, tolerance);
  }
  state->outputs = std::move(outputs);
  return OutputsMatch(std::move(state));
}

OutputsMatch::OutputsMatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputsMatch::OutputsMatch(OutputsMatch&&) noexcept = default;
OutputsMatch& OutputsMatch::operator=(OutputsMatch&&) noexcept = default;
OutputsMatch::~OutputsMatch() = default;

Status OutputsMatch::add(std::uint64_t sample_id, std::size_t output_index,
                         std::span<const std::byte> accuracy_run,
                         std::span<const std::byte> timed_run) {
  State& state = *state_;
  if (output_index >= state.outputs.size()) {
    return out_of_range(fmt::format("output {} of {}", output_index, state.outputs.size()));
  }
  const std::size_t size = state.sizes[output_index];
  if (accuracy_run.size() != size || timed_run.size() != size) {
    return invalid_argument(
        fmt::format("output {} of sample {}: accuracy run has {} bytes, timed run {}, it takes {}",
                    to_string(state.outputs[output_index]), sample_id, accuracy_run.size(),
                    timed_run.size(), size));
  }
  ++state.result.compared;
  if (size == 0 || std::memcmp(accuracy_run.data(), timed_run.data(), size) == 0) {
    ++state.result.bit_identical;
    return ok_status();
  }
  const DType dtype = state.outputs[output_index].dtype;
  state.add_pair(sample_id, output_index,
                 difference_of(dtype, accuracy_run, timed_run, state.block));
  return ok_status();
}

MatchResult OutputsMatch::finish() const {
  MatchResult result = state_->result;
  result.verdict = state_->verdict();
  result.reason = state_->reason();
  return result;
}

Json to_json(const MatchResult& result) {
  Json json = {{"verdict", name_of(result.verdict)},
               {"reason", result.reason},
               {"compared", result.compared},
               {"bit_identical", result.bit_identical},
               {"within_tolerance", result.within_tolerance},
               {"drifted", result.drifted},
               {"max_abs", finite_or_null(result.max_abs)},
               {"max_scaled", finite_or_null(result.max_scaled)},
               {"tolerance", result.tolerance},
               {"first_drifted_sample", nullptr},
               {"first_drifted_output", nullptr}};
  if (result.first_drifted_sample) {
    json["first_drifted_sample"] = *result.first_drifted_sample;
    json["first_drifted_output"] = result.first_drifted_output;
  }
  return json;
}

}  // namespace assay::check
