#pragma once

// Counts how the outputs of calls that must not differ do differ. Sources: measurement.md,
// Stability.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace assay::check {

// One sample's output that was not what was expected.
struct RowDifference {
  std::uint64_t call = 0;
  std::uint64_t slot = 0;  // the batch that was submitted
  std::uint64_t row = 0;   // the sample's place in it
  std::uint64_t output = 0;
};

struct OutputDifference {
  double max_abs = 0.0;         // over elements finite on both sides
  double max_ulps = 0.0;        // units in the last place of the output's dtype; 0 for integers
  std::uint64_t nonfinite = 0;  // elements that are NaN or infinite on one side only
};

// What a number of calls came to. Adds up.
struct CallDifferences {
  std::uint64_t calls = 0;
  std::uint64_t differing = 0;    // calls with an output that is not, bit by bit, the expected one
  std::uint64_t label_flips = 0;  // samples whose best class is another
  std::uint64_t inputs_changed =
      0;  // calls after which the caller's input was not what it had been
  // Of the differing calls, those whose outputs are wholly the expected ones of ...
  std::uint64_t as_previous = 0;  // ... the call before, of the same caller
  std::uint64_t as_first = 0;     // ... the first call of the series
  std::uint64_t as_other = 0;     // ... another batch
  std::uint64_t unwritten = 0;    // and those with elements that hold what the buffer held before
  std::uint64_t shape_changes = 0;
  std::optional<std::uint64_t> first_differing;  // number of the first differing call
  std::uint64_t agreeing_after_first = 0;        // calls after it that agree
  std::vector<OutputDifference> outputs;
  std::vector<RowDifference> rows;       // the first kKeptRows
  std::vector<std::uint32_t> call_crcs;  // over the outputs of the first kKeptCrcs calls

  void add(const CallDifferences& other);
};
inline constexpr std::size_t kKeptRows = 256;
inline constexpr std::size_t kKeptCrcs = 64;

Json to_json(const CallDifferences& differences);
Result<CallDifferences> call_differences_from_json(const Json& json);

// One call, as its outputs are judged.
struct CallFacts {
  std::uint64_t call = 0;      // 0, 1, ... of this series
  std::uint64_t slot = 0;      // which of the expected outputs these must be
  std::uint64_t previous = 0;  // the slot of this caller's call before; `slot` when there was none
  std::uint64_t first = 0;     // the slot of the series' first call
  std::uint64_t poison = 0;    // the eight bytes that the buffers were filled with before the call
  bool input_changed = false;
};

// Memory does not grow with calls. One thread at a time; the expected outputs outlive it.
class StabilityCounter {
 public:
  // `expected`: the outputs of each slot. `rows`: samples in a batch, along dimension 0; an output
  // whose dimension 0 is no multiple of it counts as one row. `class_output`: the output whose best
  // class in each row is a label; none when negative.
  static Result<StabilityCounter> create(std::span<const std::vector<TensorView>> expected,
                                         std::int64_t rows, std::int64_t class_output);
  StabilityCounter(StabilityCounter&&) noexcept;
  StabilityCounter& operator=(StabilityCounter&&) noexcept;
  ~StabilityCounter();

  Status add(const CallFacts& facts, std::span<const TensorView> got);

  CallDifferences finish() const;

 private:
  struct State;
  explicit StabilityCounter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::check
