#include "controller/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "check/elements.h"
#include "check/outputs_match.h"
#include "controller/reference_tells_apart.h"
#include "controller/stability_matrix.h"
#include "loadgen/percentile.h"

namespace assay::controller {
namespace {

using workload::StabilityAxis;

constexpr std::size_t kMostBatches = 16;  // in one arena
constexpr std::size_t kMostWideBatches = 4;
constexpr std::size_t kMostArenaBytes = std::size_t{256} << 20;

constexpr std::array<const char*, workload::kStabilityAxes> kUnits = {
    "calls",   "handles", "processes", "compilations", "batches",
    "batches", "batches", "calls",     "calls"};

Result<bool> all_alike(const KnownBatches& batches) {
  ASSIGN_OR_RETURN(const std::vector<TensorView> first, batches.expected(0));
  for (std::size_t slot = 1; slot < batches.samples.size(); ++slot) {
    ASSIGN_OR_RETURN(const std::vector<TensorView> outputs, batches.expected(slot));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!std::ranges::equal(first[k].bytes, outputs[k].bytes)) return false;
    }
  }
  return batches.samples.size() > 1;
}

// What rounding may do to each output when sums are taken in another order.
Result<std::vector<double>> tolerance_of(const KnownBatches& batches) {
  std::vector<double> tolerance(batches.outputs.size(), 0.0);
  std::vector<double> values;
  for (std::size_t slot = 0; slot < batches.samples.size(); ++slot) {
    ASSIGN_OR_RETURN(const std::vector<TensorView> outputs, batches.expected(slot));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      values.resize(outputs[k].bytes.size() / size_of(outputs[k].spec.dtype));
      check::load_doubles(outputs[k].spec.dtype, outputs[k].bytes, values.data());
      const double share = check::default_match_tolerance(outputs[k].spec.dtype, std::nullopt);
      for (const double value : values) {
        if (std::isfinite(value)) tolerance[k] = std::max(tolerance[k], share * std::abs(value));
      }
    }
  }
  return tolerance;
}

}  // namespace

std::vector<std::size_t> StabilityMatrix::shuffled_samples() {
  std::vector<std::size_t> samples(request_->samples);
  std::iota(samples.begin(), samples.end(), std::size_t{0});
  for (std::size_t i = samples.size(); i > 1; --i) {
    std::swap(samples[i - 1], samples[random_.below(i)]);
  }
  return samples;
}

// Batches of distinct samples, as many as memory and data allow.
Result<Arrangement> StabilityMatrix::arrange(std::int64_t batch_size, std::size_t most_batches) {
  ASSIGN_OR_RETURN(const std::vector<TensorSpec> inputs, runner_.input_specs(batch_size));
  ASSIGN_OR_RETURN(const std::size_t bytes, worker::input_slot_bytes(inputs));
  const auto rows = static_cast<std::size_t>(batch_size);
  const std::size_t affordable = std::clamp<std::size_t>(kMostArenaBytes / bytes, 1, most_batches);
  const std::size_t count =
      std::max<std::size_t>(std::min(affordable, request_->samples / rows), 1);
  const std::vector<std::size_t> samples = shuffled_samples();
  Arrangement arrangement(count, std::vector<std::size_t>(rows));
  for (std::size_t i = 0; i < count * rows; ++i) {
    arrangement[i / rows][i % rows] = samples[i % samples.size()];
  }
  return arrangement;
}

// False as well when there is no reference that says so.
bool StabilityMatrix::reference_differs() const {
  if (!request_->reference_store) return false;
  std::vector<std::size_t> samples;
  for (const auto& batch : base_.samples) samples.push_back(batch.front());
  const Result<bool> told = tells_apart(*request_->reference_store, samples);
  return told.ok() && *told;
}

Status StabilityMatrix::begin() {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    axes_[i].axis = static_cast<StabilityAxis>(i);
    axes_[i].unit = kUnits[i];
    axes_[i].why = "not asked for";
  }
  const std::int64_t batch = *std::ranges::min_element(request_->batch_sizes);
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session, runner_.open("base", request_->model, batch, loaded));
  many_callers_ = loaded.any_number_of_calls;
  ASSIGN_OR_RETURN(Arrangement samples, arrange(loaded.batch_size, kMostBatches));
  ASSIGN_OR_RETURN(base_, runner_.decode(loaded, std::move(samples)));
  RETURN_IF_ERROR(record_expected(session, base_, request_->seed));
  ASSIGN_OR_RETURN(const bool alike, all_alike(base_));
  evidence_.outputs_all_alike = alike && reference_differs();
  ASSIGN_OR_RETURN(tolerance_, tolerance_of(base_));
  RETURN_IF_ERROR(runner_.close(session));
  return ok_status();
}

// Recorded when an axis first needs it.
Status StabilityMatrix::begin_wide() {
  if (wide_ || !no_wide_.empty()) return ok_status();
  std::int64_t batch = 0;
  for (const std::int64_t size : request_->batch_sizes) {
    if (size > 1 && (batch == 0 || size < batch)) batch = size;
  }
  if (batch == 0) {
    no_wide_ = "no batch size above 1 is evaluated";
    return ok_status();
  }
  if (request_->samples < static_cast<std::uint64_t>(batch) * 2) {
    no_wide_ = fmt::format("{} samples are fewer than two batches of {}", request_->samples, batch);
    return ok_status();
  }
  LoadedModel loaded;
  ASSIGN_OR_RETURN(Session session, runner_.open("wide", request_->model, batch, loaded));
  ASSIGN_OR_RETURN(Arrangement samples, arrange(loaded.batch_size, kMostWideBatches));
  ASSIGN_OR_RETURN(KnownBatches wide, runner_.decode(loaded, std::move(samples)));
  RETURN_IF_ERROR(record_expected(session, wide, request_->seed));
  RETURN_IF_ERROR(runner_.close(session));
  wide_ = std::move(wide);
  return ok_status();
}

bool StabilityMatrix::only_last_row(const check::CallDifferences& seen,
                                    const KnownBatches& batches) const {
  const auto last = static_cast<std::size_t>(batches.batch_size) - 1;
  const auto was_last = [&](std::size_t sample) {
    return std::ranges::any_of(wide_->samples,
                               [&](const auto& batch) { return batch.back() == sample; });
  };
  return !seen.rows.empty() && std::ranges::all_of(seen.rows, [&](const auto& row) {
    return row.row == last || was_last(batches.samples[row.slot][row.row]);
  });
}

void StabilityMatrix::find_first_sample(StabilityAxis axis, const KnownBatches& batches) {
  const auto& rows = evidence_.of(axis).calls.rows;
  if (at(axis).first_sample || rows.empty()) return;
  const check::RowDifference& first = rows.front();
  if (first.slot < batches.samples.size() && first.row < batches.samples[first.slot].size()) {
    at(axis).first_sample = batches.samples[first.slot][first.row];
  }
}

void StabilityMatrix::fail(StabilityAxis axis, const Status& status) {
  at(axis).why = status.to_string();
  at(axis).failed = true;
}

// What rounding may do to the answers: anywhere, and where sums are taken in another order.
void StabilityMatrix::find_limits() {
  floor_.assign(base_.outputs.size(), 0.0);
  const bool any = std::ranges::any_of(
      axes_, [&](const AxisResult& axis) { return evidence_.of(axis.axis).differing > 0; });
  if (!any || !request_->noise_floors) return;
  const std::vector<check::NoiseFloor> floors = request_->noise_floors();
  for (std::size_t k = 0; k < floor_.size(); ++k) {
    const check::NoiseFloor* found = check::find_floor(floors, base_.outputs[k].name);
    if (found == nullptr) continue;
    floor_[k] = check::kNoiseAllowance * check::largest(found->variations).max_abs;
    if (found->bound) {
      tolerance_[k] = check::kNoiseAllowance * check::largest(found->bound->draws).max_abs;
    }
    tolerance_[k] = std::max(tolerance_[k], floor_[k]);
  }
}

StabilityVerdict StabilityMatrix::judge(const AxisResult& axis) const {
  if (axis.failed && !runner_.stopped()) return StabilityVerdict::kUnstable;
  const check::CallDifferences& seen = axis.counts.calls;
  if (axis.counts.n == 0) return StabilityVerdict::kNotTested;
  if (seen.inputs_changed > 0) return StabilityVerdict::kUnstable;
  if (axis.axis == StabilityAxis::kRepeat && evidence_.outputs_all_alike) {
    return StabilityVerdict::kUnstable;
  }
  if (axis.counts.differing == 0) return StabilityVerdict::kBitStable;
  const std::vector<double>& allowed = axis.axis == StabilityAxis::kBatchSize ? tolerance_ : floor_;
  if (seen.label_flips > 0 || seen.shape_changes > 0 || allowed.size() != seen.outputs.size()) {
    return StabilityVerdict::kUnstable;
  }
  for (std::size_t k = 0; k < allowed.size(); ++k) {
    if (seen.outputs[k].nonfinite > 0 || !(seen.outputs[k].max_abs <= allowed[k])) {
      return StabilityVerdict::kUnstable;
    }
  }
  return StabilityVerdict::kWithinNoiseFloor;
}

StabilityResult StabilityMatrix::result() const {
  StabilityResult result;
  std::set<std::size_t> distinct;
  for (const auto& batch : base_.samples) distinct.insert(batch.begin(), batch.end());
  result.distinct_inputs = distinct.size();
  for (AxisResult axis : axes_) {
    axis.counts = evidence_.of(axis.axis);
    axis.verdict = judge(axis);
    if (axis.verdict != StabilityVerdict::kNotTested) {
      axis.rate_upper_95 = rate_upper_limit(axis.counts.differing, axis.counts.n);
    }
    const bool expected = axis.axis == StabilityAxis::kBatchSize;  // another order of summation
    if (axis.verdict == StabilityVerdict::kUnstable ||
        (axis.verdict == StabilityVerdict::kWithinNoiseFloor && !expected)) {
      axis.cause =
          axis.failed ? "a call failed: " + axis.why : suspected_cause(axis.axis, evidence_);
    }
    if (axis.verdict == StabilityVerdict::kNotTested && axis.why.empty()) {
      axis.why = runner_.stopped() ? "interrupted" : "out of time";
    }
    result.verdict = std::max(result.verdict, axis.verdict);
    result.axes.push_back(std::move(axis));
  }
  return result;
}

std::string_view name_of(StabilityVerdict verdict) {
  switch (verdict) {
    case StabilityVerdict::kNotTested:
      return "not_tested";
    case StabilityVerdict::kBitStable:
      return "bit_stable";
    case StabilityVerdict::kWithinNoiseFloor:
      return "within_noise_floor";
    case StabilityVerdict::kUnstable:
      break;
  }
  return "unstable";
}

double rate_upper_limit(std::uint64_t k, std::uint64_t n) {
  if (n == 0 || k >= n) return 1.0;
  double low = static_cast<double>(k) / static_cast<double>(n);
  double high = 1.0;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (loadgen::binomial_cdf(n, middle, k) > 0.05 ? low : high) = middle;
  }
  return high;
}

PhaseResult<StabilityResult> run_stability(const StabilityRequest& request, RunObserver& observer) {
  PhaseResult<StabilityResult> done;
  done.record.name = "stability";
  const std::int64_t start_ns = now_ns();
  StabilityMatrix matrix(request, observer);
  Status first_error = matrix.begin().with_context("first calls");
  const bool begun = first_error.ok();
  for (std::size_t i = 0; i < workload::kStabilityAxes && first_error.ok(); ++i) {
    const auto axis = static_cast<StabilityAxis>(i);
    const Status status = matrix.run(axis).with_context(std::string(workload::name_of(axis)));
    if (!status.ok()) matrix.fail(axis, status);
    if (request.session.stop != nullptr && *request.session.stop) break;
    observer.progress(i + 1, workload::kStabilityAxes, "axes");
  }
  if (first_error.ok()) first_error = matrix.diagnose();
  if (begun) matrix.find_limits();  // also of axes that ran before an experiment failed
  done.value = matrix.result();
  for (AxisResult& axis : done.value->axes) {
    if (axis.verdict == StabilityVerdict::kNotTested && !first_error.ok()) {
      axis.why = first_error.message();
    }
  }
  for (const AxisResult& axis : done.value->axes) {
    if (axis.failed && first_error.ok()) first_error = unavailable(axis.why);
  }
  if (request.session.stop != nullptr && *request.session.stop) {
    done.record.end = {worker::Outcome::kSkipped, "interrupted"};
  } else if (!first_error.ok()) {
    done.record.end = {worker::Outcome::kFailed, first_error.message()};
  }
  if (matrix.peak_rss_bytes() > 0) done.record.peak_rss_bytes = matrix.peak_rss_bytes();
  done.record.wall_ns = now_ns() - start_ns;
  return done;
}

}  // namespace assay::controller
