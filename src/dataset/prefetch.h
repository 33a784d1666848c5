#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "dataset/dataset.h"

namespace assay::dataset {

// Memory for one batch, one buffer per input of the data set, each batch_size times as long as a
// sample's (as long as one sample's where the input is not batched). The caller owns it.
using BatchBuffers = std::vector<std::span<std::byte>>;

struct PrefetchOptions {
  std::size_t first = 0;  // samples [first, first + count) in this order
  std::size_t count = 0;
  std::size_t batch_size = 1;
  std::size_t decoders = 1;  // threads
  // Per input the dimension along which samples are joined; nullopt: not batched, the first sample
  // of the batch gives it. Empty: dimension 0 for all.
  std::vector<std::optional<std::size_t>> batch_axes;
};

// A decoded batch: samples [first, first + count) lie in slot `slot`. Rows from count to batch_size
// of a short last batch repeat its first sample.
struct Batch {
  std::size_t slot = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

// Decodes batches ahead of their use into a fixed set of slots, so that memory depends on the slots
// and never on the data set. Batches come out in order whatever the number of decoders. next() and
// release() are for one consumer thread; cancel() may be called from any. The data set and the
// slots' memory outlive the object; the destructor cancels and joins.
class BatchSource {
 public:
  // kInvalidArgument for no slot, a slot of the wrong sizes, batch size 0 or a range beyond the
  // set.
  static Result<std::unique_ptr<BatchSource>> start(const Dataset& dataset,
                                                    std::vector<BatchBuffers> slots,
                                                    const PrefetchOptions& options);
  virtual ~BatchSource() = default;

  // The next batch, waiting for it; nullopt after the last. The first failed sample, in order of
  // batches, ends the stream with its error (which names it); kCancelled after cancel(). A
  // deadlock of the caller's own making is kFailedPrecondition: every slot handed out, none
  // released.
  virtual Result<std::optional<Batch>> next() = 0;

  // Gives the slot of a batch back to be filled again.
  virtual void release(std::size_t slot) = 0;

  // Wakes next() and stops the decoders after the sample that each is at.
  virtual void cancel() = 0;
};

// Decodes these samples, in this order, into one batch of their number; `batch_axes` as above. Any
// thread. kInvalidArgument for buffers of the wrong sizes, kOutOfRange for a sample that is not
// there.
Status decode_samples(const Dataset& dataset, std::span<const std::size_t> samples,
                      const std::vector<std::optional<std::size_t>>& batch_axes,
                      const BatchBuffers& batch);

}  // namespace assay::dataset
