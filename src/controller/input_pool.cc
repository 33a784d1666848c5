#include "controller/input_pool.h"

#include <algorithm>
#include <memory>

#include "controller/inference_pass.h"
#include "dataset/prefetch.h"

namespace assay::controller {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{256} << 20;
constexpr std::size_t kMostPoolSlots = 64;

}  // namespace

std::size_t pool_slots(const InputPool& pool, const std::vector<TensorSpec>& inputs) {
  const Result<std::size_t> bytes = worker::input_slot_bytes(inputs);
  const std::size_t by_bytes = bytes.ok() ? std::max<std::size_t>(kPoolBytes / *bytes, 1) : 1;
  const auto batch = static_cast<std::size_t>(pool.batch_size);
  const std::size_t by_data = (static_cast<std::size_t>(pool.usable_samples) + batch - 1) / batch;
  return std::min({by_bytes, std::max<std::size_t>(by_data, 1), kMostPoolSlots});
}

Result<std::vector<std::size_t>> fill_pool(const InputPool& pool, Session& session, int round) {
  const std::size_t slots = session.layout().input_slots;
  const std::size_t samples = slots * static_cast<std::size_t>(pool.batch_size);
  const auto usable = static_cast<std::size_t>(pool.usable_samples);
  dataset::PrefetchOptions options;
  options.batch_size = static_cast<std::size_t>(pool.batch_size);
  options.batch_axes = pool.batch_axes;
  options.count = std::min(samples, usable);
  options.first =
      usable > samples ? static_cast<std::size_t>(round) * samples % (usable - samples + 1) : 0;
  ASSIGN_OR_RETURN(const std::unique_ptr<dataset::BatchSource> source,
                   dataset::BatchSource::start(
                       *pool.dataset, slot_buffers(session.layout(), session.arena()), options));
  std::vector<std::size_t> first_samples(slots, 0);
  for (std::size_t filled = 0; filled < slots; ++filled) {
    ASSIGN_OR_RETURN(const std::optional<dataset::Batch> batch, source->next());
    if (!batch) return internal_error("the data set gave fewer batches than it has");
    first_samples[batch->slot] = batch->first;
  }
  return first_samples;
}

}  // namespace assay::controller
