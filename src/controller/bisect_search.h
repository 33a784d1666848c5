#pragma once

// Where along a chain of operators something goes from right to wrong, found by asking as little as
// can be. Knows nothing of models and backends.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"

namespace assay::controller {

// What was seen of one range of operators.
enum class CutOutcome {
  kWithin,    // every tensor that leaves the range is within its tolerance
  kDeviates,  // one is not, or the backend crashed or hung in it
  kUnusable,  // the backend does not compile it: nothing is known
};

const char* name_of(CutOutcome outcome);  // "within", "deviates", "unusable"

// Looks at the operators first..last, both included. An error ends the search.
using RangeOracle = std::function<Result<CutOutcome>(std::int64_t first, std::int64_t last)>;

// The places of a model where it can be cut: numbers of operators, ascending. At least one.
using CutPlaces = std::vector<std::int64_t>;

struct FirstDeviation {
  std::size_t place = 0;  // into CutPlaces: operators up to this one deviate
  // Operators up to this one are within; none when already the first place deviates. Between the
  // two no cut could be compiled, so the answer is certain only when they are neighbours.
  std::optional<std::size_t> last_within;
  std::vector<std::int64_t> unusable;  // operators after which no cut could be compiled
};

// The first place of which the prefix deviates while the one before does not. Where later operators
// repair an error, a prefix beyond them is within again: what is found is then one of several such
// places. `ask` is asked for prefixes only: first is always 0, last a place.
//
// None when the whole, asked first, is within. kFailedPrecondition when the whole is unusable.
Result<std::optional<FirstDeviation>> find_first_deviation(const CutPlaces& places,
                                                           const RangeOracle& ask);

// The shortest range that ends at places[last] and deviates on right inputs: the place where it
// begins. Goes back from `last` by 1, 3, 7, ... places until one deviates, then bisects; the range
// from 0 is taken to deviate and is not asked for. Unusable ranges are passed over as within.
// Right when a longer range deviates whenever a shorter one does.
Result<std::size_t> find_range_start(const CutPlaces& places, std::size_t last,
                                     const RangeOracle& ask);

}  // namespace assay::controller
