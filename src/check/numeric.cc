#include "check/numeric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "check/histograms.h"
#include "check/pair_reader.h"
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
  bool ref_is_zero = true;  // every element
  bool got_is_zero = true;

  void add(const BlockSums& block) {
    ref_ref += block.pairs.ref_ref;
    got_got += block.pairs.got_got;
    ref_got += block.pairs.ref_got;
    ref_is_zero = ref_is_zero && block.ref_is_zero;
    got_is_zero = got_is_zero && block.got_is_zero;
  }
};

std::optional<double> cosine_of(const Products& p) {
  if (p.ref_is_zero || p.got_is_zero) return p.ref_is_zero == p.got_is_zero ? 1.0 : 0.0;
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
  // First elements of the first blocks that hold a mismatch and the largest difference.
  std::size_t mismatch_block = 0;
  std::size_t max_abs_block = 0;

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
  PairRules rules;
  std::size_t ref_bytes = 0;
  std::size_t got_bytes = 0;
  bool floating = false;
  bool class_scores = false;
  bool ulp_distribution = false;
  DType unit = DType::kFloat32;
  std::unique_ptr<PairReader> reader;

  std::uint64_t samples = 0;
  std::uint64_t samples_differing = 0;
  std::uint64_t compared = 0;
  std::uint64_t differing = 0;
  std::uint64_t outside = 0;
  NonFinite nonfinite;
  RunningMoments abs_moments;
  CompensatedSum signed_sum, squared, ref_ref, got_got, ref_got, relative;
  bool ref_is_zero = true, got_is_zero = true;
  double max_abs = 0.0, max_relative = 0.0, max_ulps = 0.0;
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

  void add_block(const RawPairs& raw, std::size_t first, SampleSums& sample);
  void add_nonfinite(const NonFinite& found, std::size_t first, SampleSums& sample);
  void add_histograms(const PairSums& sums);
  void add_sample(std::uint64_t sample_id, const SampleSums& sample, const RawPairs& raw);
  void keep_worst(std::uint64_t sample_id, const SampleSums& sample, const RawPairs& raw);
  void find_worst_element(WorstSample& worst, const RawPairs& raw, std::size_t first);
  void add_agreement(const RawPairs& raw);
  void write_spread(NumericResult& result) const;
  void write_relative(NumericResult& result) const;
  void write_plots(NumericResult& result) const;
};

void NumericComparison::State::add_block(const RawPairs& raw, std::size_t first,
                                         SampleSums& sample) {
  const BlockSums block = reader->sums_of(raw, first);
  const PairSums& sums = block.pairs;
  add_nonfinite(block.nonfinite, first, sample);
  if (block.compared == 0) return;
  compared += block.compared;
  differing += sums.differing;
  abs_moments.add(block.compared, sums.pivot, sums.abs_shifted, sums.abs_shifted_squared);
  signed_sum.add(sums.signed_sum);
  squared.add(sums.squared);
  relative.add(sums.relative);
  relative_elements += sums.relative_elements;
  max_relative = std::max(max_relative, sums.max_relative);
  max_ulps = std::max(max_ulps, sums.max_ulps);
  outside += floating ? sums.outside : sums.differing;
  sample.compared += block.compared;
  sample.differing += sums.differing;
  sample.products.add(block);
  if (sums.max_abs > sample.max_abs) {
    sample.max_abs = sums.max_abs;
    sample.max_abs_block = first;
  }
  add_histograms(sums);
}

void NumericComparison::State::add_nonfinite(const NonFinite& found, std::size_t first,
                                             SampleSums& sample) {
  nonfinite.mismatches += found.mismatches;
  nonfinite.nan_both += found.nan_both;
  nonfinite.inf_both += found.inf_both;
  if (found.mismatches > 0 && sample.mismatches == 0) sample.mismatch_block = first;
  sample.mismatches += found.mismatches;
}

void NumericComparison::State::add_histograms(const PairSums& sums) {
  const std::size_t size = reader->differences().size();
  const bool differs = sums.differing > 0;
  if (ulp_distribution && differs) {
    ulps.add(reader->places(), rules.unit.significand_bits - 2, size - sums.relative_elements);
  } else if (ulp_distribution) {
    ulps.add_zeros(sums.relative_elements);
  }
  if (!options.plots) return;
  if (!differs) {
    signed_difference.add_zeros(size);
    magnitude.add_zeros(size);
    return;
  }
  signed_difference.add(reader->differences(), sums.max_abs);
  magnitude.add(reader->differences());
}

void NumericComparison::State::add_sample(std::uint64_t sample_id, const SampleSums& sample,
                                          const RawPairs& raw) {
  ++samples;
  ref_ref.add(sample.products.ref_ref);
  got_got.add(sample.products.got_got);
  ref_got.add(sample.products.ref_got);
  ref_is_zero = ref_is_zero && sample.products.ref_is_zero;
  got_is_zero = got_is_zero && sample.products.got_is_zero;
  max_abs = std::max(max_abs, sample.max_abs);
  if (sample.compared > 0) {
    const double none = std::numeric_limits<double>::infinity();
    min_cosine = std::min(min_cosine, cosine_of(sample.products).value_or(none));
  }
  if (class_scores) add_agreement(raw);
  if (!sample.differs()) return;
  ++samples_differing;
  keep_worst(sample_id, sample, raw);
}

void NumericComparison::State::keep_worst(std::uint64_t sample_id, const SampleSums& sample,
                                          const RawPairs& raw) {
  WorstSample candidate;
  candidate.sample_id = sample_id;
  candidate.nonfinite_mismatches = sample.mismatches;
  candidate.max_abs = sample.mismatches > 0 ? std::numeric_limits<double>::infinity()  //
                                            : sample.max_abs;
  const auto place = std::find_if(worst.begin(), worst.end(), [&](const WorstSample& other) {
    return is_worse(candidate, other);
  });
  if (place == worst.end() && worst.size() >= options.worst_samples) return;
  const std::size_t first = sample.mismatches > 0 ? sample.mismatch_block : sample.max_abs_block;
  find_worst_element(candidate, raw, first);
  worst.insert(place, candidate);
  if (worst.size() > options.worst_samples) worst.pop_back();
}

// The first mismatch, or else the first element whose difference is the sample's largest: both are
// in the block that starts at `first`.
void NumericComparison::State::find_worst_element(WorstSample& found, const RawPairs& raw,
                                                  std::size_t first) {
  const Block& block = reader->load(raw, first);
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

void NumericComparison::State::add_agreement(const RawPairs& raw) {
  ref_scores.resize(elements_per_sample());
  got_scores.resize(elements_per_sample());
  load_doubles(ref_spec.dtype, raw.ref, ref_scores.data());
  load_doubles(got_spec.dtype, raw.got, got_scores.data());
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
  result.cosine = differing == 0 ? 1.0  // not a rounding below it
                                 : cosine_of({ref_ref.value(), got_got.value(), ref_got.value(),
                                              ref_is_zero, got_is_zero});
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
  if (!floating) return;
  result.ulp = UlpDistance{unit, std::nullopt, std::nullopt, max_ulps};
  if (!ulp_distribution) return;
  result.ulp->p50 = ulps.quantile(0.5);
  result.ulp->p99 = ulps.quantile(0.99);
}

void NumericComparison::State::write_plots(NumericResult& result) const {
  if (!options.plots) return;
  const auto signed_counts = signed_difference.counts();
  const auto power_counts = magnitude.counts();
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
  state->floating = is_floating(reference.dtype);
  state->class_scores = has_name(options.class_scores, reference.name) && state->ref_bytes > 0;
  if (state->floating) {
    state->unit = coarser(reference.dtype, got.dtype);
    const std::optional<DType>& executed = options.executed_precision;
    if (executed && is_floating(*executed)) state->unit = coarser(state->unit, *executed);
  }
  state->rules = {options.atol, options.rtol, format_of(state->unit)};
  state->ulp_distribution = state->floating && options.ulp_distribution;
  state->reader = std::make_unique<PairReader>(reference.dtype, got.dtype, state->rules,
                                               state->ulp_distribution || options.plots);
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
  const RawPairs raw{reference, got};
  SampleSums sample;
  for (std::size_t first = 0; first < state.elements_per_sample(); first += kBlockElements) {
    state.add_block(raw, first, sample);
  }
  state.add_sample(sample_id, sample, raw);
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
