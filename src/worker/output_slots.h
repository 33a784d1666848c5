#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "host/backend.h"
#include "worker/layout.h"

namespace assay::worker {

// Takes the outputs of one call straight into an output slot of the arena and writes their records.
// aim() before every call. No allocation on success. One call at a time.
class SlotSink : public host::OutputSink {
 public:
  // `outputs` is the number of outputs of the model.
  explicit SlotSink(std::size_t outputs) : outputs_(outputs) {}

  // The next call writes into `slot`, whose records are cleared.
  void aim(std::span<std::byte> slot);
  // Fills the room for outputs with these eight bytes again and again, so that bytes which the
  // backend does not write show; the default is NaN in every floating dtype. Costs a pass over the
  // slot: not for timed calls.
  void poison(std::uint64_t pattern = ~std::uint64_t{0});

  // After a call whose slot was poisoned: the first output behind whose end something was written,
  // into the kArenaAlignment bytes or more that nobody was given.
  std::optional<std::size_t> written_beyond() const;

  Result<std::span<std::byte>> allocate(std::size_t output_index,
                                        std::span<const std::int64_t> shape,
                                        std::size_t size_bytes) override;

  // Bytes that the last call asked for, when the slot was too small; else 0.
  std::size_t missing_capacity_bytes() const { return overflowed_ ? wanted_bytes_ : 0; }

 private:
  std::size_t outputs_;
  std::span<std::byte> slot_;
  std::size_t used_bytes_ = 0;
  std::size_t wanted_bytes_ = 0;  // of all outputs of this call so far
  bool overflowed_ = false;
  std::uint64_t poison_ = 0;
};

// kInternal, with the output's name, when something was written behind the end of one.
Status check_ends(const SlotSink& sink, const std::vector<TensorSpec>& outputs);

}  // namespace assay::worker
