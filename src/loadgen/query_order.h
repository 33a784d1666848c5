#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace assay::loadgen {

// Which input slot each query number uses, decided before the window so that no random number is
// drawn in it. Immutable after construction, thread-safe.
class QueryOrder {
 public:
  // Seeded order over `inputs` slots (at least 1): whole permutations one after another, at least
  // kMinimumLength entries, so that a period of the order does not coincide with one of the inputs.
  // Each slot appears equally often. The same (inputs, seed) gives the same order on every host.
  static QueryOrder shuffled(std::uint32_t inputs, std::uint64_t seed);

  // Every query uses `slot`: the other side of the unique-versus-repeated check.
  static QueryOrder repeated(std::uint32_t slot);

  // Thread-safe, no allocation; numbers from kUntimedQueryBase on are as good as others.
  std::uint32_t slot(std::uint64_t query) const {
    return order_[query < order_.size() ? query : query % order_.size()];
  }

  std::size_t length() const { return order_.size(); }

  static constexpr std::size_t kMinimumLength = 4096;

 private:
  explicit QueryOrder(std::vector<std::uint32_t> order) : order_(std::move(order)) {}

  std::vector<std::uint32_t> order_;
};

}  // namespace assay::loadgen
