#include "loadgen/query_order.h"

#include <algorithm>
#include <numeric>

#include "loadgen/random.h"

namespace assay::loadgen {

QueryOrder QueryOrder::shuffled(std::uint32_t inputs, std::uint64_t seed) {
  const std::size_t count = std::max<std::uint32_t>(inputs, 1);
  const std::size_t epochs = (kMinimumLength + count - 1) / count;
  std::vector<std::uint32_t> order(epochs * count);
  Random random(seed);
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(epoch * count);
    std::iota(first, first + static_cast<std::ptrdiff_t>(count), 0U);
    for (std::size_t left = count; left > 1; --left) {
      std::swap(order[epoch * count + left - 1], order[epoch * count + random.below(left)]);
    }
  }
  return QueryOrder(std::move(order));
}

QueryOrder QueryOrder::repeated(std::uint32_t slot) { return QueryOrder({slot}); }

}  // namespace assay::loadgen
