#include "loadgen/warmup.h"

#include <algorithm>
#include <cmath>

namespace assay::loadgen {

void WarmupJudge::add_block(double median_ns) {
  previous_ = last_;
  last_ = median_ns;
}

WarmupJudge::Verdict WarmupJudge::judge(std::uint64_t calls, std::int64_t elapsed_ns) const {
  const bool above_floors = calls >= rules_.floor_calls && elapsed_ns >= rules_.floor_ns;
  if (above_floors && last_ && previous_ &&
      std::abs(*last_ - *previous_) <= rules_.tolerance * *previous_) {
    return Verdict::kSteady;
  }
  return elapsed_ns >= rules_.cap_ns ? Verdict::kCapped : Verdict::kGoOn;
}

void LatencyRing::copy_from(std::uint64_t first, std::vector<double>& out) const {
  const std::uint64_t end = count();
  const std::uint64_t oldest = end > kLength ? end - kLength : 0;
  for (std::uint64_t index = std::max(first, oldest); index < end; ++index) {
    out.push_back(static_cast<double>(values_[index % kLength].load(std::memory_order_relaxed)));
  }
}

}  // namespace assay::loadgen
