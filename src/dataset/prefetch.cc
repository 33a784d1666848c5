#include "dataset/prefetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "dataset/placement.h"

namespace assay::dataset {
namespace {

// A batch that is being decoded, or decoded and not yet taken.
struct Pending {
  Batch batch;
  std::size_t remaining = 0;     // samples not yet decoded
  std::size_t first_failed = 0;  // meaningful when status is an error
  Status status;
};

// Samples that one decoder takes at a time, all of one batch.
struct Claim {
  Pending* pending = nullptr;  // deques keep addresses when ends are pushed and popped
  std::size_t first = 0;       // position in the batch
  std::size_t count = 0;
};

class Prefetcher final : public BatchSource {
 public:
  Prefetcher(const Dataset& dataset, std::vector<BatchBuffers> slots, PrefetchOptions options,
             std::vector<Placement> placements)
      : dataset_(dataset),
        slots_(std::move(slots)),
        options_(std::move(options)),
        placements_(std::move(placements)),
        // Small enough that all decoders work on a batch, large enough that the lock costs nothing.
        claim_size_(std::clamp<std::size_t>(options_.batch_size / (2 * options_.decoders), 1, 16)) {
    for (std::size_t i = 0; i < slots_.size(); ++i) free_slots_.push_back(i);
    decoders_.reserve(options_.decoders);
    for (std::size_t i = 0; i < options_.decoders; ++i) {
      decoders_.emplace_back([this] { run_decoder(); });
    }
  }

  ~Prefetcher() override { cancel(); }  // the threads join as decoders_ goes

  Result<std::optional<Batch>> next() override {
    std::unique_lock lock(mutex_);
    if (pending_.empty() && free_slots_.empty() && cursor_ < options_.count && !stopped_) {
      return failed_precondition("every slot is handed out: release one before asking for more");
    }
    batch_ready_.wait(lock, [this] { return stopped_ || front_is_ready() || is_exhausted(); });
    if (stopped_) return end_;
    if (is_exhausted()) return std::optional<Batch>();
    const Pending done = std::move(pending_.front());
    pending_.pop_front();
    if (!done.status.ok()) {
      stop(done.status);
      return end_;
    }
    lock.unlock();
    pad(done.batch);
    return std::optional<Batch>(done.batch);
  }

  void release(std::size_t slot) override {
    {
      const std::lock_guard lock(mutex_);
      free_slots_.push_back(slot);
    }
    work_ready_.notify_all();
  }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    if (!stopped_) stop(cancelled("decoding was cancelled"));
  }

 private:
  // These four require the mutex.
  bool front_is_ready() const { return !pending_.empty() && pending_.front().remaining == 0; }
  bool is_exhausted() const { return pending_.empty() && cursor_ == options_.count; }
  bool has_work() const {
    if (cursor_ == options_.count) return false;
    return cursor_ % options_.batch_size != 0 || !free_slots_.empty();
  }
  void stop(Status status) {
    stopped_ = true;
    end_ = std::move(status);
    batch_ready_.notify_all();
    work_ready_.notify_all();
  }

  void run_decoder() {
    Scratch scratch(placements_.size());
    std::unique_lock lock(mutex_);
    while (true) {
      work_ready_.wait(lock,
                       [this] { return stopped_ || has_work() || cursor_ == options_.count; });
      if (stopped_ || cursor_ == options_.count) return;
      const Claim claim = take_claim();
      const Batch batch = claim.pending->batch;
      lock.unlock();
      const auto [failed_at, status] = decode(batch, claim, scratch);
      lock.lock();
      finish(claim, failed_at, status);
    }
  }

  Claim take_claim() {
    const std::size_t position = cursor_ % options_.batch_size;
    if (position == 0) open_batch();
    Pending& pending = pending_.back();
    const std::size_t count = std::min(claim_size_, pending.batch.count - position);
    cursor_ += count;
    return {&pending, position, count};
  }

  void open_batch() {
    const std::size_t count = std::min(options_.batch_size, options_.count - cursor_);
    const Batch batch{free_slots_.front(), options_.first + cursor_, count};
    free_slots_.pop_front();
    pending_.push_back({batch, count, 0, ok_status()});
  }

  void finish(const Claim& claim, std::size_t failed_at, const Status& status) {
    Pending& pending = *claim.pending;
    if (!status.ok() && (pending.status.ok() || failed_at < pending.first_failed)) {
      pending.status = status;
      pending.first_failed = failed_at;
    }
    pending.remaining -= claim.count;
    if (pending.remaining == 0) batch_ready_.notify_all();
  }

  struct Outcome {
    std::size_t failed_at = 0;
    Status status;
  };

  // A data set's foreign code may throw; that must end the stream, not the process.
  Outcome decode(const Batch& batch, const Claim& claim, Scratch& scratch) {
    for (std::size_t i = claim.first; i < claim.first + claim.count; ++i) {
      try {
        Status status = decode_into(dataset_, batch.first + i, placements_, options_.batch_size, i,
                                    slots_[batch.slot], scratch);
        if (!status.ok()) return {i, std::move(status)};
      } catch (const std::exception& error) {
        return {i, internal_error(fmt::format("sample \"{}\": {}",
                                              dataset_.sample_id(batch.first + i), error.what()))};
      }
    }
    return {};
  }

  void pad(const Batch& batch) const {
    for (std::size_t position = batch.count; position < options_.batch_size; ++position) {
      for (std::size_t i = 0; i < placements_.size(); ++i) {
        if (placements_[i].batched) repeat_first(placements_[i], position, slots_[batch.slot][i]);
      }
    }
  }

  void repeat_first(const Placement& placement, std::size_t position,
                    std::span<std::byte> batch) const {
    for (std::size_t run = 0; run < placement.runs; ++run) {
      std::byte* const first = batch.data() + run * options_.batch_size * placement.run_bytes;
      std::memcpy(first + position * placement.run_bytes, first, placement.run_bytes);
    }
  }

  const Dataset& dataset_;
  const std::vector<BatchBuffers> slots_;
  const PrefetchOptions options_;
  const std::vector<Placement> placements_;
  const std::size_t claim_size_;

  std::mutex mutex_;  // guards all below but decoders_
  std::condition_variable batch_ready_;
  std::condition_variable work_ready_;
  std::deque<std::size_t> free_slots_;
  std::deque<Pending> pending_;  // in order; the last one may have unclaimed samples
  std::size_t cursor_ = 0;       // samples claimed so far
  bool stopped_ = false;
  Status end_;  // why, when stopped_

  std::vector<std::jthread> decoders_;  // last: joined before anything above goes
};

}  // namespace

Result<std::unique_ptr<BatchSource>> BatchSource::start(const Dataset& dataset,
                                                        std::vector<BatchBuffers> slots,
                                                        const PrefetchOptions& options) {
  if (options.batch_size == 0 || options.decoders == 0) {
    return invalid_argument(fmt::format("batch size {} and {} decoders: both must be at least 1",
                                        options.batch_size, options.decoders));
  }
  if (options.first > dataset.size() || options.count > dataset.size() - options.first) {
    return invalid_argument(fmt::format("samples {} to {} of {}", options.first,
                                        options.first + options.count, dataset.size()));
  }
  ASSIGN_OR_RETURN(std::vector<Placement> placements, place_all(dataset, options.batch_axes));
  RETURN_IF_ERROR(check_slots(slots, dataset, placements, options.batch_size));
  return std::unique_ptr<BatchSource>(
      std::make_unique<Prefetcher>(dataset, std::move(slots), options, std::move(placements)));
}

}  // namespace assay::dataset
