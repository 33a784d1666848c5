#include "check/numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "check/histograms.h"
#include "check/numeric_block.h"
#include "check/running_moments.h"
#include "check/top_classes.h"

namespace assay::check {
namespace {

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// What cosine and SNR need, of one sample or of all.
struct Products {
  double ref_ref = 0.0;
  double got_got = 0.0;
  double ref_got = 0.0;
  double max_ref = 0.0;
  double max_got = 0.0;
};

std::optional<double> cosine_of(const Products& p) {
  if (p.max_ref == 0.0 && p.max_got == 0.0) return 1.0;
  if (p.max_ref == 0.0 || p.max_got == 0.0) return 0.0;
  if (p.ref_ref == p.ref_got && p.got_got == p.ref_got && p.ref_ref > 0.0) return 1.0;
  const double cosine = p.ref_got / (std::sqrt(p.ref_ref) * std::sqrt(p.got_got));
  if (!std::isfinite(cosine)) return std::nullopt;  // squares beyond the range of a double
  return std::clamp(cosine, -1.0, 1.0);
}

// What one sample came to.
struct SampleSums {
  Products products;
  double max_abs = 0.0;
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;
  std::uint64_t mismatches = 0;

  bool differs() const { return differing > 0 || mismatches > 0; }
};

// Worst first: by non-finite mismatches, then by the largest difference, then the lower id.
bool is_worse(const WorstSample& a, const WorstSample& b) {
  if (a.nonfinite_mismatches != b.nonfinite_mismatches) {
    return a.nonfinite_mismatches > b.nonfinite_mismatches;
  }
  if (a.max_abs != b.max_abs) return a.max_abs > b.max_abs;
  return a.sample_id < b.sample_id;
}

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_sizes(std::size_t want_ref, std::size_t ref, std::size_t want_got, std::size_t got,
                   const std::string& output, std::uint64_t sample_id) {
  if (ref == want_ref && got == want_got) return ok_status();
  return invalid_argument(
      fmt::format("output \"{}\" of sample {}: reference has {} of {} bytes, backend {} of {}",
                  output, sample_id, ref, want_ref, got, want_got));
}

}  // namespace

struct NumericComparison::State {
  TensorSpec ref_spec;
  TensorSpec got_spec;
  NumericOptions options;
  Tolerance tolerance;
  std::size_t ref_bytes = 0;
  std::size_t got_bytes = 0;
  bool floating = false;
  bool class_scores = false;
  DType unit = DType::kFloat32;

  Block block;
  std::uint64_t samples = 0;
  std::uint64_t samples_differing = 0;
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;
  std::uint64_t outside = 0;
  NonFinite nonfinite;
  RunningMoments abs_moments;
  CompensatedSum signed_sum, squared, ref_ref, got_got, ref_got, relative;
  double max_abs = 0.0, max_ref = 0.0, max_got = 0.0, max_relative = 0.0, max_ulps = 0.0;
  std::uint64_t relative_elements = 0;
  double min_cosine = std::numeric_limits<double>::infinity();
  LogLinearHistogram ulps;
  SteppedHistogram signed_difference;
  PowerHistogram magnitude;
  std::vector<WorstSample> worst;
  std::vector<double> ref_scores, got_scores;
  std::uint64_t top1_agreeing = 0;
  CompensatedSum top5_agreement;

  std::size_t elements_per_sample() const { return ref_bytes / size_of(ref_spec.dtype); }

  void load(std::size_t first, std::span<const std::byte> ref, std::span<const std::byte> got) {
    const std::size_t count = std::min(kBlockElements, elements_per_sample() - first);
    const std::size_t ref_size = size_of(ref_spec.dtype);
    const std::size_t got_size = size_of(got_spec.dtype);
    load_block(ref_spec.dtype, ref.subspan(first * ref_size, count * ref_size), got_spec.dtype,
               got.subspan(first * got_size, count * got_size), block);
  }

  void add_block(SampleSums& sample);
  void add_relative(const BlockSums& sums);
  void add_histograms(const BlockSums& sums);
  void add_sample(std::uint64_t sample_id, const SampleSums& sample, std::span<const std::byte> ref,
                  std::span<const std::byte> got);
  void keep_worst(std::uint64_t sample_id, const SampleSums& sample, std::span<const std::byte> ref,
                  std::span<const std::byte> got);
  void find_worst_element(WorstSample& worst, std::span<const std::byte> ref,
                          std::span<const std::byte> got);
  void add_agreement(std::span<const std::byte> ref, std::span<const std::byte> got);
  void write_spread(NumericResult& result) const;
  void write_relative(NumericResult& result) const;
  void write_plots(NumericResult& result) const;
};

void NumericComparison::State::add_block(SampleSums& sample) {
  const NonFinite found = compact(block);
  nonfinite.mismatches += found.mismatches;
  nonfinite.nan_both += found.nan_both;
  nonfinite.inf_both += found.inf_both;
  sample.mismatches += found.mismatches;
  if (block.size == 0) return;
  const BlockSums sums = sum_block(block);
  compared += block.size;
  differing += sums.differing;
  abs_moments.add(block.size, sums.pivot, sums.abs_shifted, sums.abs_shifted_squared);
  signed_sum.add(sums.signed_sum);
  squared.add(sums.squared);
  sample.compared += block.size;
  sample.differing += sums.differing;
  sample.max_abs = std::max(sample.max_abs, sums.max_abs);
  Products& p = sample.products;
  p.ref_ref += sums.ref_ref;
  p.got_got += sums.got_got;
  p.ref_got += sums.ref_got;
  p.max_ref = std::max(p.max_ref, sums.max_ref);
  p.max_got = std::max(p.max_got, sums.max_got);
  add_relative(sums);
  add_histograms(sums);
}

void NumericComparison::State::add_relative(const BlockSums& sums) {
  const RelativeSums rel = relative_block(block, tolerance);
  relative.add(rel.sum);
  max_relative = std::max(max_relative, rel.max);
  relative_elements += rel.elements;
  outside += floating ? rel.outside : sums.differing;
  if (!floating) return;
  if (sums.differing == 0) return ulps.add_zeros(rel.elements);
  const std::size_t count = ulp_block(block, tolerance, format_of(unit), max_ulps);
  ulps.add(std::span(block.ulps).first(count));
}

void NumericComparison::State::add_histograms(const BlockSums& sums) {
  if (sums.differing == 0) {
    signed_difference.add_zeros(block.size);
    magnitude.add_zeros(block.size);
    return;
  }
  signed_difference.add(std::span(block.diff).first(block.size), sums.max_abs);
  magnitude.add(std::span(block.abs_diff).first(block.size));
}

void NumericComparison::State::add_sample(std::uint64_t sample_id, const SampleSums& sample,
                                          std::span<const std::byte> ref,
                                          std::span<const std::byte> got) {
  ++samples;
  ref_ref.add(sample.products.ref_ref);
  got_got.add(sample.products.got_got);
  ref_got.add(sample.products.ref_got);
  max_ref = std::max(max_ref, sample.products.max_ref);
  max_got = std::max(max_got, sample.products.max_got);
  max_abs = std::max(max_abs, sample.max_abs);
  if (sample.compared > 0) {
    const double none = std::numeric_limits<double>::infinity();
    min_cosine = std::min(min_cosine, cosine_of(sample.products).value_or(none));
  }
  if (class_scores) add_agreement(ref, got);
  if (!sample.differs()) return;
  ++samples_differing;
  keep_worst(sample_id, sample, ref, got);
}

void NumericComparison::State::keep_worst(std::uint64_t sample_id, const SampleSums& sample,
                                          std::span<const std::byte> ref,
                                          std::span<const std::byte> got) {
  WorstSample candidate;
  candidate.sample_id = sample_id;
  candidate.nonfinite_mismatches = sample.mismatches;
  candidate.max_abs = sample.mismatches > 0 ? std::numeric_limits<double>::infinity()  //
                                            : sample.max_abs;
  const auto place = std::find_if(worst.begin(), worst.end(), [&](const WorstSample& other) {
    return is_worse(candidate, other);
  });
  if (place == worst.end() && worst.size() >= options.worst_samples) return;
  find_worst_element(candidate, ref, got);
  worst.insert(place, candidate);
  if (worst.size() > options.worst_samples) worst.pop_back();
}

// The first mismatch, or else the first element whose difference is the sample's largest.
void NumericComparison::State::find_worst_element(WorstSample& found,
                                                  std::span<const std::byte> ref,
                                                  std::span<const std::byte> got) {
  for (std::size_t first = 0; first < elements_per_sample(); first += kBlockElements) {
    load(first, ref, got);
    for (std::size_t i = 0; i < block.size; ++i) {
      const bool mismatch = is_mismatch(block.ref[i], block.got[i]);
      const bool largest = std::fabs(block.diff[i]) == found.max_abs;
      if (found.nonfinite_mismatches > 0 ? !mismatch : !largest) continue;
      found.element = first + i;
      found.reference = block.ref[i];
      found.got = block.got[i];
      return;
    }
  }
}

void NumericComparison::State::add_agreement(std::span<const std::byte> ref,
                                             std::span<const std::byte> got) {
  ref_scores.resize(elements_per_sample());
  got_scores.resize(elements_per_sample());
  load_doubles(ref_spec.dtype, ref, ref_scores.data());
  load_doubles(got_spec.dtype, got, got_scores.data());
  const TopClasses ref_top = top_classes(ref_scores, kMostTop);
  const TopClasses got_top = top_classes(got_scores, kMostTop);
  if (ref_top.classes[0] == got_top.classes[0]) ++top1_agreeing;
  top5_agreement.add(static_cast<double>(shared_classes(ref_top, got_top)) /
                     static_cast<double>(ref_top.count));
}

void NumericComparison::State::write_spread(NumericResult& result) const {
  if (compared == 0) return;
  const auto n = static_cast<double>(compared);
  result.max_abs = finite(max_abs);
  result.mean_abs = finite(abs_moments.mean());
  result.std_abs = finite(std::sqrt(abs_moments.variance()));
  result.mean_signed = finite(signed_sum.value() / n);
  result.rmse = finite(std::sqrt(squared.value() / n));
  result.outside_tolerance = static_cast<double>(outside) / n;
  result.cosine =
      differing == 0
          ? 1.0  // not a rounding below it
          : cosine_of({ref_ref.value(), got_got.value(), ref_got.value(), max_ref, max_got});
  result.min_sample_cosine = finite(min_cosine);
  if (squared.value() > 0.0) {
    result.snr_db = finite(10.0 * std::log10(ref_ref.value() / squared.value()));
  }
}

void NumericComparison::State::write_relative(NumericResult& result) const {
  result.relative_elements = relative_elements;
  if (relative_elements == 0) return;
  result.max_rel = finite(max_relative);
  result.mean_rel = finite(relative.value() / static_cast<double>(relative_elements));
  if (floating) result.ulp = UlpDistance{unit, ulps.quantile(0.5), ulps.quantile(0.99), max_ulps};
}

void NumericComparison::State::write_plots(NumericResult& result) const {
  const auto& signed_counts = signed_difference.counts();
  const auto& power_counts = magnitude.counts();
  result.signed_difference = {signed_difference.low(),
                              signed_difference.step(),
                              {signed_counts.begin(), signed_counts.end()}};
  result.magnitude = {
      PowerHistogram::kLowExponent, magnitude.zeros(), {power_counts.begin(), power_counts.end()}};
}

Status check_comparable(const TensorSpec& reference, const TensorSpec& got) {
  const bool same_kind = is_floating(reference.dtype) == is_floating(got.dtype);
  if (reference.name == got.name && reference.shape == got.shape && same_kind) return ok_status();
  return failed_precondition(fmt::format("outputs differ: reference gives {}, backend gives {}",
                                         to_string(reference), to_string(got)));
}

Result<NumericComparison> NumericComparison::create(const TensorSpec& reference,
                                                    const TensorSpec& got,
                                                    const NumericOptions& options) {
  RETURN_IF_ERROR(check_comparable(reference, got));
  if (!(options.atol >= 0.0) || !(options.rtol >= 0.0)) {
    return invalid_argument(fmt::format("tolerances must not be negative: atol {}, rtol {}",
                                        options.atol, options.rtol));
  }
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->ref_bytes, byte_size(reference));
  ASSIGN_OR_RETURN(state->got_bytes, byte_size(got));
  state->ref_spec = reference;
  state->got_spec = got;
  state->options = options;
  state->tolerance = {options.atol, options.rtol};
  state->floating = is_floating(reference.dtype);
  state->class_scores = has_name(options.class_scores, reference.name) && state->ref_bytes > 0;
  if (state->floating) {
    state->unit = coarser(reference.dtype, got.dtype);
    const std::optional<DType>& executed = options.executed_precision;
    if (executed && is_floating(*executed)) state->unit = coarser(state->unit, *executed);
  }
  return NumericComparison(std::move(state));
}

NumericComparison::NumericComparison(std::unique_ptr<State> state) : state_(std::move(state)) {}
NumericComparison::NumericComparison(NumericComparison&&) noexcept = default;
NumericComparison& NumericComparison::operator=(NumericComparison&&) noexcept = default;
NumericComparison::~NumericComparison() = default;

Status NumericComparison::add(std::uint64_t sample_id, std::span<const std::byte> reference,
                              std::span<const std::byte> got) {
  State& state = *state_;
  RETURN_IF_ERROR(check_sizes(state.ref_bytes, reference.size(), state.got_bytes, got.size(),
                              state.ref_spec.name, sample_id));
  SampleSums sample;
  for (std::size_t first = 0; first < state.elements_per_sample(); first += kBlockElements) {
    state.load(first, reference, got);
    state.add_block(sample);
  }
  state.add_sample(sample_id, sample, reference, got);
  return ok_status();
}

NumericResult NumericComparison::finish() const {
  const State& state = *state_;
  NumericResult result;
  result.output = state.ref_spec.name;
  result.reference_dtype = state.ref_spec.dtype;
  result.dtype = state.got_spec.dtype;
  result.shape = state.ref_spec.shape;
  result.samples = state.samples;
  result.elements = state.samples * state.elements_per_sample();
  result.compared = state.compared;
  result.nonfinite_mismatches = state.nonfinite.mismatches;
  result.nan_both = state.nonfinite.nan_both;
  result.inf_both = state.nonfinite.inf_both;
  result.differing = state.differing;
  result.samples_differing = state.samples_differing;
  result.identical = state.samples_differing == 0;
  result.atol = state.options.atol;
  result.rtol = state.options.rtol;
  state.write_spread(result);
  state.write_relative(result);
  state.write_plots(result);
  if (state.class_scores && state.samples > 0) {
    const auto samples = static_cast<double>(state.samples);
    result.top1_agreement = static_cast<double>(state.top1_agreeing) / samples;
    result.top5_agreement = state.top5_agreement.value() / samples;
  }
  result.worst = state.worst;
  return result;
}

}  // namespace assay::check
