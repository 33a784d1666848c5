#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "loadgen/closed_loop.h"

namespace assay::loadgen {

// Decides when warm-up is over, from numbers alone: no clock, no thread.
class WarmupJudge {
 public:
  enum class Verdict { kGoOn, kSteady, kCapped };

  explicit WarmupJudge(const WarmupRules& rules) : rules_(rules) {}

  // True when a block that has `calls` and lasts `block_ns` may be closed.
  bool block_complete(std::uint64_t calls, std::int64_t block_ns) const {
    return calls >= rules_.block_calls && block_ns >= rules_.block_ns;
  }

  // A block was closed.
  void add_block(double median_ns);

  // After `calls` calls and `elapsed_ns` since warm-up began.
  Verdict judge(std::uint64_t calls, std::int64_t elapsed_ns) const;

  std::optional<double> last_median_ns() const { return last_; }
  std::optional<double> previous_median_ns() const { return previous_; }

 private:
  WarmupRules rules_;
  std::optional<double> last_;
  std::optional<double> previous_;
};

// The latest latencies of one client in warm-up. One writer; read by one other thread meanwhile,
// which may miss the newest but never sees a torn value.
class LatencyRing {
 public:
  static constexpr std::size_t kLength = 4096;

  void push(std::int64_t latency_ns) {
    const std::uint64_t index = count_.load(std::memory_order_relaxed);
    values_[index % kLength].store(latency_ns, std::memory_order_relaxed);
    count_.store(index + 1, std::memory_order_release);
  }

  std::uint64_t count() const { return count_.load(std::memory_order_acquire); }

  // Appends the values from number `first` on, at most the last kLength.
  void copy_from(std::uint64_t first, std::vector<double>& out) const;

 private:
  std::atomic<std::uint64_t> count_{0};
  std::array<std::atomic<std::int64_t>, kLength> values_{};
};

}  // namespace assay::loadgen
