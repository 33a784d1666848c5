#include "worker/output_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace assay::worker {
void SlotSink::aim(std::span<std::byte> slot) {
  slot_ = slot;
  std::memset(slot_.data(), 0, outputs_ * sizeof(OutputRecord));
  used_bytes_ = aligned(outputs_ * sizeof(OutputRecord));
  wanted_bytes_ = 0;
  overflowed_ = false;
}

void SlotSink::poison(std::uint64_t pattern) {
  poison_ = pattern;
  const std::span<std::byte> room = slot_.subspan(aligned(outputs_ * sizeof(OutputRecord)));
  std::size_t at = 0;
  for (; at + sizeof(pattern) <= room.size(); at += sizeof(pattern)) {
    std::memcpy(room.data() + at, &pattern, sizeof(pattern));
  }
  std::memcpy(room.data() + at, &pattern, room.size() - at);
}

std::optional<std::size_t> SlotSink::written_beyond() const {
  std::array<std::byte, sizeof poison_> pattern{};
  std::memcpy(pattern.data(), &poison_, sizeof poison_);
  for (std::size_t k = 0; k < outputs_; ++k) {
    OutputRecord record;
    std::memcpy(&record, slot_.data() + k * sizeof(record), sizeof(record));
    if (record.present != 1) continue;
    // The pattern begins anew at every multiple of its size, and outputs at multiples of that.
    const std::size_t end = record.offset + aligned(record.size_bytes) + kArenaAlignment;
    for (std::size_t at = record.offset + record.size_bytes; at < end; ++at) {
      if (slot_[at] != pattern[at % pattern.size()]) return k;
    }
  }
  return std::nullopt;
}

Result<std::span<std::byte>> SlotSink::allocate(std::size_t output_index,
                                                std::span<const std::int64_t> shape,
                                                std::size_t size_bytes) {
  if (output_index >= outputs_ || shape.size() > kMaxRank) {
    return invalid_argument(
        fmt::format("output {} of rank {} has no place here", output_index, shape.size()));
  }
  wanted_bytes_ += aligned(size_bytes);
  if (size_bytes > slot_.size() - std::min(used_bytes_ + kArenaAlignment, slot_.size())) {
    overflowed_ = true;
    return resource_exhausted(
        fmt::format("the outputs of one batch need {} bytes or more", wanted_bytes_));
  }
  OutputRecord record;
  record.present = 1;
  record.offset = used_bytes_;
  record.size_bytes = size_bytes;
  record.rank = shape.size();
  std::copy(shape.begin(), shape.end(), record.shape.begin());
  std::memcpy(slot_.data() + output_index * sizeof(OutputRecord), &record, sizeof(record));
  const std::span<std::byte> bytes = slot_.subspan(used_bytes_, size_bytes);
  used_bytes_ += aligned(size_bytes) + kArenaAlignment;
  return bytes;
}

Status check_ends(const SlotSink& sink, const std::vector<TensorSpec>& outputs) {
  const std::optional<std::size_t> k = sink.written_beyond();
  if (!k) return ok_status();
  return internal_error(
      fmt::format("infer wrote beyond the end of its buffer for output \"{}\"", outputs[*k].name));
}

}  // namespace assay::worker
