#pragma once

// The axes of the stability matrix, one by one. Internal to controller.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "controller/stability.h"
#include "controller/stability_batches.h"
#include "controller/stability_runner.h"
#include "loadgen/random.h"

namespace assay::controller {

class StabilityMatrix {
 public:
  StabilityMatrix(const StabilityRequest& request, RunObserver& observer)
      : request_(&request), observer_(&observer), runner_(request), random_(request.seed) {}

  // The first handle: which inputs, and what they are answered.
  Status begin();
  // An error is a worker's that failed, and the axis's own.
  Status run(workload::StabilityAxis axis);
  // Experiments that tell causes apart; only where something differs.
  Status diagnose();
  void fail(workload::StabilityAxis axis, const Status& status);
  // Before result(), once all axes ran.
  void find_limits();
  StabilityResult result() const;
  std::int64_t peak_rss_bytes() const { return runner_.peak_rss_bytes(); }

 private:
  std::vector<std::size_t> shuffled_samples();
  bool reference_differs() const;
  Result<Arrangement> arrange(std::int64_t batch_size, std::size_t most_batches);
  Status begin_wide();
  Status repeat();
  Status handles();
  Status processes();
  Status compilations();
  Status positions();
  Status neighbours();
  Status batch_sizes();
  Status concurrency();
  Status after_load();

  Result<check::CallDifferences> in_new_process(const std::string& name, const CompiledModel& model,
                                                const KnownBatches& batches,
                                                const ExerciseCall& call,
                                                const Environment& environment);
  Result<check::CallDifferences> on_new_handle(const std::string& name, const ExerciseCall& call);
  Result<check::CallDifferences> exercise_and_close(Session& session, const KnownBatches& batches,
                                                    const ExerciseCall& call);
  Status one_compilation(std::uint64_t i, AxisCounts& counts);
  Status rearranged(workload::StabilityAxis axis, const Arrangement& samples);
  void add_unit(AxisCounts& counts, const check::CallDifferences& seen);
  void find_first_sample(workload::StabilityAxis axis, const KnownBatches& batches);
  bool only_last_row(const check::CallDifferences& seen, const KnownBatches& batches) const;
  StabilityVerdict judge(const AxisResult& axis) const;
  std::uint64_t wanted(workload::StabilityAxis axis) const { return request_->budget.of(axis); }
  bool out_of_time() const {
    return static_cast<double>(now_ns() - axis_start_ns_) / 1e9 > request_->budget.axis_seconds;
  }
  Status not_tested(workload::StabilityAxis axis, std::string why) {
    at(axis).why = std::move(why);
    return ok_status();
  }
  AxisResult& at(workload::StabilityAxis axis) { return axes_[static_cast<std::size_t>(axis)]; }

  const StabilityRequest* request_;
  RunObserver* observer_;
  StabilityRunner runner_;
  loadgen::Random random_;
  std::int64_t axis_start_ns_ = 0;
  bool many_callers_ = false;
  KnownBatches base_;                 // at the smallest batch size
  std::optional<KnownBatches> wide_;  // at the smallest one above 1
  std::string no_wide_;               // why there is none
  std::vector<double> floor_;         // largest difference that rounding explains, per output
  std::vector<double> tolerance_;     // the same between batch sizes
  StabilityEvidence evidence_;
  std::array<AxisResult, workload::kStabilityAxes> axes_;
};

}  // namespace assay::controller
